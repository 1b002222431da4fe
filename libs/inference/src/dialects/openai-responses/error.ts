import { JsonCursor, type JsonMember, type ScannedObject } from '@libs/json';
import { toEnvelope, wireErrorType, type AppError, type ErrorCode } from '@libs/errors';
import { readComplaintAt, type UpstreamComplaint } from '../../wire/upstream-error';
import type { ResponseStatus } from './stop-reason';

/** The fields with which a response reports its own failure. */
export interface ResponseFailure {
  readonly status: Extract<ResponseStatus, 'failed' | 'incomplete'>;
  readonly incompleteReason: 'max_output_tokens' | null;
  readonly error: { readonly code: string; readonly message: string; readonly metadata?: object } | null;
  readonly errorType: string | null;
}

/** Errors about length: the response becomes `incomplete`, not `failed`. */
const LENGTH_CODES: readonly ErrorCode[] = [
  'context_length_exceeded',
  'max_tokens_exceeded',
  'token_limit_exceeded',
  'string_too_long',
];

const RESPONSE_CODES: Partial<Record<ErrorCode, string>> = {
  rate_limit_exceeded: 'rate_limit_exceeded',
  context_length_exceeded: 'invalid_prompt',
  max_tokens_exceeded: 'invalid_prompt',
  token_limit_exceeded: 'invalid_prompt',
  string_too_long: 'invalid_prompt',
  invalid_request: 'invalid_prompt',
  invalid_prompt: 'invalid_prompt',
  content_policy_violation: 'image_content_policy_violation',
};

/** Error codes of an upstream's failed response that are passed on unchanged. */
const KNOWN_CODES = new Set([
  'server_error',
  'rate_limit_exceeded',
  'invalid_prompt',
  'vector_store_timeout',
  'invalid_image',
  'invalid_image_format',
  'invalid_base64_image',
  'invalid_image_url',
  'image_too_large',
  'image_too_small',
  'image_parse_error',
  'image_content_policy_violation',
  'invalid_image_mode',
  'image_file_too_large',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
  'image_file_not_found',
  'bio_policy',
  'data_residency_mismatch',
  'cyber_policy',
  'misalignment_policy_violation',
]);

export function isLengthError({ code }: AppError): boolean {
  return LENGTH_CODES.includes(code);
}

/**
 * Returns an error in the form that a failed response has. `nativeCode` is the upstream's code. An error about length
 * makes the response `incomplete` only if `mayBeIncomplete`: no item may still be open.
 */
export function failureOf(error: AppError, nativeCode: string | null = null, mayBeIncomplete = true): ResponseFailure {
  if (mayBeIncomplete && isLengthError(error)) {
    return { status: 'incomplete', incompleteReason: 'max_output_tokens', error: null, errorType: null };
  }
  const { message, metadata } = toEnvelope(error).error;
  const code =
    nativeCode !== null && KNOWN_CODES.has(nativeCode) ? nativeCode : (RESPONSE_CODES[error.code] ?? 'server_error');
  return {
    status: 'failed',
    incompleteReason: null,
    error: { code, message, ...(metadata && { metadata }) },
    errorType: wireErrorType(error.code),
  };
}

/**
 * Returns the fields that the last event has next to its `response`: the error a second time. Clients such as LangChain
 * ignore `response.failed` and the error inside its response, but every client of OpenAI's API stops at an event with
 * the field `error`.
 */
export function besideResponse({ error }: Pick<ResponseFailure, 'error'>): { readonly error?: object } {
  return error === null ? {} : { error };
}

const FAILED: ReadonlySet<string | null> = new Set(['failed', 'cancelled']);

/** The complaint of a response that failed without a reason. */
export const NO_COMPLAINT: UpstreamComplaint = { message: null, code: null, status: null };

interface FallibleResponse extends Pick<ScannedObject, 'bytes'> {
  readonly status: string | null;
  readonly error: JsonMember | null;
}

/** Returns whether a status says that the response failed. */
export function isFailed(status: string | null): boolean {
  return FAILED.has(status);
}

/** Returns the error of a response that has one or failed, whether or not it says why; null for any other response. */
export function complaintIn({ bytes, status, error }: FallibleResponse): UpstreamComplaint | null {
  if (error !== null) return readComplaintAt(new JsonCursor(bytes, error.valueStart), 0);
  return isFailed(status) ? NO_COMPLAINT : null;
}
