package accelerate

// framework is empty: there is no Accelerate on Linux, and tests name a library of their own.
const framework = ""
