import { toEnvelope, wireErrorType, type AppError } from '@libs/errors';

/** An error in the shape of the Messages API. */
export interface MessageError {
  readonly type: 'error';
  readonly error: { readonly type: string; readonly message: string; readonly error_type: string };
}

export interface MessageErrorBody extends MessageError {
  readonly error: MessageError['error'] & { readonly availability?: Readonly<Record<string, unknown>> };
  readonly request_id: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

const TYPES: Readonly<Record<string, string>> = {
  authentication: 'authentication_error',
  permission_denied: 'permission_error',
  payment_required: 'billing_error',
  not_found: 'not_found_error',
  image_not_found: 'not_found_error',
  rate_limit_exceeded: 'rate_limit_error',
  provider_overloaded: 'overloaded_error',
  timeout: 'timeout_error',
};

/** Returns an error as the data of an `error` event. A 500 shows no internal details. */
export function messageError(error: AppError): MessageError {
  const { message } = toEnvelope(error).error;
  const errorType = wireErrorType(error.code);
  const type = TYPES[errorType] ?? (error.status < 500 ? 'invalid_request_error' : 'api_error');
  return { type: 'error', error: { type, message, error_type: errorType } };
}

/** Returns an error as the body of a response with the error's status. */
export function messageErrorBody(error: AppError, requestId: string | null): MessageErrorBody {
  const { metadata: told, availability } = toEnvelope(error).error;
  const { error_type: _told, ...metadata } = told ?? {};
  const body = messageError(error);
  return {
    ...body,
    ...(availability && { error: { ...body.error, availability } }),
    request_id: requestId,
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
}
