package accelerate

// framework is empty, because Linux has no Accelerate. Tests set Environment.
const framework = ""
