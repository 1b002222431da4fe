/**
 * The table of error codes.
 *
 * The first block is the fixed list of `error_type` values of the public API. The second block are HTTP conditions for
 * which the list has no value; in answers they have the `error_type` in `wireType`. So does `unavailable`, a problem of
 * our own without any provider.
 *
 * `retryable` says whether the same request may succeed at another endpoint or later. Routing falls back to another
 * endpoint of the same model only if it is set.
 */
interface ErrorCodeEntry {
  readonly status: number;
  readonly retryable: boolean;
  readonly wireType?: string;
}

const table = {
  context_length_exceeded: { status: 400, retryable: false },
  max_tokens_exceeded: { status: 400, retryable: false },
  token_limit_exceeded: { status: 400, retryable: false },
  string_too_long: { status: 400, retryable: false },
  invalid_request: { status: 400, retryable: false },
  invalid_prompt: { status: 400, retryable: false },
  content_policy_violation: { status: 400, retryable: false },
  refusal: { status: 400, retryable: false },
  invalid_image: { status: 400, retryable: false },
  image_too_large: { status: 400, retryable: false },
  image_too_small: { status: 400, retryable: false },
  unsupported_image_format: { status: 400, retryable: false },
  image_download_failed: { status: 400, retryable: false },
  authentication: { status: 401, retryable: false },
  payment_required: { status: 402, retryable: false },
  permission_denied: { status: 403, retryable: false },
  not_found: { status: 404, retryable: false },
  image_not_found: { status: 404, retryable: false },
  precondition_failed: { status: 412, retryable: false },
  payload_too_large: { status: 413, retryable: false },
  unprocessable: { status: 422, retryable: false },
  rate_limit_exceeded: { status: 429, retryable: true },
  server: { status: 500, retryable: true },
  unmapped: { status: 500, retryable: true },
  provider_unavailable: { status: 502, retryable: true },
  provider_overloaded: { status: 503, retryable: true },
  timeout: { status: 504, retryable: true },

  method_not_allowed: { status: 405, retryable: false, wireType: 'invalid_request' },
  request_timeout: { status: 408, retryable: false, wireType: 'timeout' },
  conflict: { status: 409, retryable: false, wireType: 'precondition_failed' },
  headers_too_large: { status: 431, retryable: false, wireType: 'invalid_request' },
  range_not_satisfiable: { status: 416, retryable: false, wireType: 'invalid_request' },
  unavailable: { status: 503, retryable: true, wireType: 'provider_overloaded' },
  gone: { status: 410, retryable: false, wireType: 'not_found' },
} as const satisfies Record<string, ErrorCodeEntry>;

export type ErrorCode = keyof typeof table;

export const ERROR_CODES: Readonly<Record<ErrorCode, ErrorCodeEntry>> = table;

/** Returns the `error_type` in answers for one of our codes. */
export function wireErrorType(code: ErrorCode): string {
  return ERROR_CODES[code].wireType ?? code;
}

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}
