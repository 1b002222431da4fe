export { AppError, type AppErrorDetails, type AppErrorWire } from './app-error';
export { toEnvelope, type ErrorEnvelope } from './envelope';
export { ERROR_CODES, isErrorCode, wireErrorType, type ErrorCode } from './error-codes';
