package accelerate

const framework = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
