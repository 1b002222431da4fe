import { AppError, type ErrorCode } from '@libs/errors';
import { messageErrorBody } from './error';

describe(messageErrorBody.name, () => {
  it.each<[ErrorCode, string]>([
    ['authentication', 'authentication_error'],
    ['permission_denied', 'permission_error'],
    ['payment_required', 'billing_error'],
    ['not_found', 'not_found_error'],
    ['image_not_found', 'not_found_error'],
    ['rate_limit_exceeded', 'rate_limit_error'],
    ['provider_overloaded', 'overloaded_error'],
    ['timeout', 'timeout_error'],
    ['context_length_exceeded', 'invalid_request_error'],
    ['payload_too_large', 'invalid_request_error'],
    ['provider_unavailable', 'api_error'],
  ])('tells %s as a %s', (code, type) => {
    expect(messageErrorBody(new AppError(code, 'No'), 'req-1')).toEqual({
      type: 'error',
      error: { type, message: 'No', error_type: code },
      request_id: 'req-1',
    });
  });

  it('shows the metadata of an error beside it, once', () => {
    const error = new AppError('timeout', 'Too late', { metadata: { provider_name: 'Acme' }, internal: 'secret' });
    expect(messageErrorBody(error, null)).toEqual({
      type: 'error',
      error: { type: 'timeout_error', message: 'Too late', error_type: 'timeout' },
      request_id: null,
      metadata: { provider_name: 'Acme' },
    });
  });

  it('says in the error why nothing could serve', () => {
    const availability = { code: 'constraint_filtered', retryable: false };
    expect(messageErrorBody(new AppError('not_found', 'No provider', { availability }), null)).toEqual({
      type: 'error',
      error: { type: 'not_found_error', message: 'No provider', error_type: 'not_found', availability },
      request_id: null,
    });
  });

  it('tells nothing of what went wrong inside', () => {
    const error = new AppError('server', 'Out of cheese', { metadata: { table: 'x' }, availability: {} });
    expect(messageErrorBody(error, null)).toEqual({
      type: 'error',
      error: { type: 'api_error', message: 'Internal error', error_type: 'server' },
      request_id: null,
    });
  });
});
