export { AppError, type AppErrorDetails, type AppErrorWire } from './app-error';
export { isMasked, shownMessage, toEnvelope } from './envelope';
export { systemCodeOf } from './system-code';
export { ERROR_CODES, isErrorCode, wireErrorType, type ErrorCode } from './error-codes';
