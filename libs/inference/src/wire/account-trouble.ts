/** The parts of an error response that show its cause. */
interface Refusal {
  readonly message: string | null;
  readonly code: string | null;
}

/**
 * Problems with the account that some providers report as 400, as if the request were invalid, with the status that
 * other providers use for them. The last row is about a file that the request names and the provider still prepares.
 */
const BY_MESSAGE: readonly (readonly [message: RegExp, status: number])[] = [
  [/^(?:(?:incorrect|invalid) api[ -]?key\b|api key (?:not valid|not found|expired)\b)/i, 401],
  [/^(?:invalid model(?::| '| name passed)|the provided model identifier is invalid)/i, 404],
  [/^your credit balance is too low/i, 402],
  [/^(?:this |the |your )?organization (?:has been (?:disabled|restricted)|must be verified)/i, 402],
  [/^budget has been exceeded\b/i, 402],
  [/^access denied, please make sure your account is in good standing/i, 402],
  [/^you have reached your (?:[a-z]+ ){0,4}usage limit/i, 429],
  [/^the file \S{1,200} is not in an active state/i, 412],
];
const BY_CODE: Readonly<Record<string, number>> = {
  arrearage: 402,
  organization_restricted: 402,
  invalid_model: 404,
  model_decommissioned: 404,
  model_not_available: 404,
  model_not_found: 404,
  model_not_supported: 404,
};

/** Refusals that concern one model only. The key works for the other models of its account. */
const REFUSED_MODEL = /^you don't have access to the model\b/i;

/** Refusals of a prompt with status 403, which usually means a refused key. The key is valid. */
const REFUSED_PROMPT = /^content violates usage guidelines|^\S{1,120} requires moderation\b.{0,60}\bflagged/i;

/**
 * Returns the status by which to handle a refusal: that of an account or catalogue problem, or else `status` itself.
 */
export function meantStatus(status: number, { message, code }: Refusal): number {
  const named = code?.toLowerCase() ?? '';
  if (status !== 400) return JUDGED[status]?.(named, message ?? '') ?? status;
  if (Object.hasOwn(BY_CODE, named)) return BY_CODE[named]!;
  return BY_MESSAGE.find(([pattern]) => pattern.test(message ?? ''))?.[1] ?? status;
}

/** Returns whether a 403 is about the prompt, the model or the key. */
function statusOfForbidden(code: string, message: string): number {
  if (REFUSED_PROMPT.test(message)) return 400;
  return code === 'model_not_found' || REFUSED_MODEL.test(message) ? 404 : 403;
}

/** Returns whether a 412 is Fireworks' for an account that is not paid. */
function statusOfPrecondition(_code: string, message: string): number {
  return /\bsuspended\b|spending limit/i.test(message) ? 402 : 412;
}

/** Returns what a 498 means, which no standard has: no free capacity at Groq, an invalid key at Cohere. */
function statusOf498(code: string, message: string): number {
  if (/capacity/i.test(`${code} ${message}`)) return 503;
  return /token|key/i.test(message) ? 401 : 498;
}

/** Statuses whose meaning depends on the code and the message. */
const JUDGED: Readonly<Partial<Record<number, (code: string, message: string) => number>>> = {
  403: statusOfForbidden,
  412: statusOfPrecondition,
  498: statusOf498,
};
