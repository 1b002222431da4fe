import { ERROR_CODES, isErrorCode, type ErrorCode } from '@libs/errors';

/** The parts of a refusal that may show what is wrong with the request. */
interface Refusal {
  readonly message: string | null;
  readonly code: string | null;
  readonly errorType?: string | null;
}

/**
 * Characters of a message that are examined. Long messages quote the caller's input, and state the problem at the
 * beginning.
 */
const JUDGED_LETTERS = 2_000;

/** Statuses that blame the request. */
const BLAMING: ReadonlySet<number> = new Set([400, 413, 422]);

/** Error codes of providers with a definite meaning, in lower case. */
const BY_CODE: Readonly<Record<string, ErrorCode>> = {
  context_length_exceeded: 'context_length_exceeded',
  string_above_max_length: 'string_too_long',
  invalid_prompt: 'invalid_prompt',
  refusal: 'refusal',
  content_filter: 'content_policy_violation',
  content_policy_violation: 'content_policy_violation',
  image_content_policy_violation: 'content_policy_violation',
  moderation_blocked: 'content_policy_violation',
  data_inspection_failed: 'content_policy_violation',
  datainspectionfailed: 'content_policy_violation',
  bio_policy: 'content_policy_violation',
  cyber_policy: 'content_policy_violation',
  responsibleaipolicyviolation: 'content_policy_violation',
  invalid_image: 'invalid_image',
  invalid_base64_image: 'invalid_image',
  image_parse_error: 'invalid_image',
  invalid_image_mode: 'invalid_image',
  empty_image_file: 'invalid_image',
  image_too_large: 'image_too_large',
  image_file_too_large: 'image_too_large',
  image_too_small: 'image_too_small',
  invalid_image_format: 'unsupported_image_format',
  unsupported_image_media_type: 'unsupported_image_format',
  invalid_image_url: 'image_download_failed',
  failed_to_download_image: 'image_download_failed',
  image_file_not_found: 'image_not_found',
};

/** Patterns of providers' messages; the first match counts. Each has a recorded answer in `refused-request.spec.ts`. */
const BY_MESSAGE: readonly (readonly [RegExp, ErrorCode])[] = [
  [
    /exceed context limit: \d+ \+ \d+|`inputs` tokens \+|\(\d+ in the messages, \d+ in the completion\)|is too large: \d+\. this model's maximum context length/i,
    'token_limit_exceeded',
  ],
  [
    /max_?(?:completion_|output_?|new_)?tokens\b.{0,40}(?:too large|exceeds|must be less|should be|supported range|: \d+ > \d|valid range)|max_tokens: \d+ > \d|maximum tokens you requested exceeds|range of max_tokens/i,
    'max_tokens_exceeded',
  ],
  [
    /context_length|context length|context limit|range of input length|exceeded model token limit|prompt exceeds max length|context size|context window|maximum context|maximum prompt length|maximum model length|input token count is|input token count \(\d|(?:prompt|input) is too long|too many (?:input )?tokens|input tokens exceed|maximum number of tokens allowed|`inputs` must have less than/i,
    'context_length_exceeded',
  ],
  [/string too long|should have at most \d+ characters|maximum length of \d+ characters/i, 'string_too_long'],
  [/status code:? 404\b|\b404, message=|\bimage\b.{0,60}not found|404 client error/i, 'image_not_found'],
  [
    /unsupported image|invalid image (?:format|type|media)|\bimage (?:format|type)\b.{0,40}(?:unsupported|not supported)|media_type: input should be|only image types are supported|mime ?type.{0,60}\bimage\//i,
    'unsupported_image_format',
  ],
  [
    /valid image|invalid image|\bimage is (?:not valid|invalid)|identify image|(?:not|unable to|failed to) (?:process|decode|parse)\b.{0,20}\bimage\b|appears to be an? image|does not match the (?:provided media type|specified image format)/i,
    'invalid_image',
  ],
  [/\bimage\b.{0,80}(?:too small|at least \d|smaller than)|must be larger than 10\b/i, 'image_too_small'],
  [
    /\bimage\b.{0,80}(?:exceeds?\b|too large|larger than)|image dimensions exceed|max allowed size: \d+ pixels/i,
    'image_too_large',
  ],
  [
    /(?:downloading|download the file|fetch(?:ing)? (?:the |an )?(?:image|content|file)|retrieve media|load image)|\bfile could not be fetched|url is disallowed by the website's robots\.txt/i,
    'image_download_failed',
  ],
  [/\binvalid prompt:/i, 'invalid_prompt'],
  [
    /content_policy|content_filter|content policy|content filter|ResponsibleAI|moderation_blocked|usage guidelines|unsafe or sensitive content|your input was flagged/i,
    'content_policy_violation',
  ],
];

/**
 * Returns the error code that a provider's refusal means, by its code and message; null if they say no more than its
 * status. A provider that is itself a gateway with this API names the code directly.
 */
export function meantRefusal({ message, code, errorType }: Refusal): ErrorCode | null {
  const named = codeNamed(errorType ?? null) ?? codeOfWord(code);
  if (named !== null) return named;
  const said = `${code ?? ''} ${message ?? ''}`.slice(0, JUDGED_LETTERS);
  return BY_MESSAGE.find(([pattern]) => pattern.test(said))?.[1] ?? null;
}

/** Returns the error code for a provider's code alone, for an error that comes without a status. */
export function codeOfWord(word: string | null): ErrorCode | null {
  const name = word?.toLowerCase() ?? '';
  return Object.hasOwn(BY_CODE, name) ? BY_CODE[name]! : null;
}

/**
 * Accepts only errors about the request: what another gateway says about its own accounts does not concern our caller.
 */
function codeNamed(errorType: string | null): ErrorCode | null {
  if (!isErrorCode(errorType)) return null;
  return BLAMING.has(ERROR_CODES[errorType].status) || errorType === 'image_not_found' ? errorType : null;
}
