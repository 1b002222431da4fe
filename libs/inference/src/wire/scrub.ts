const LONGEST_READ = 4_000;
const LONGEST_SHOWN = 500;

/**
 * What may be a secret or names our account with a provider. Each pattern is linear: it starts at a fixed
 * word or a word boundary and has one repetition.
 */
const SECRETS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|xai|gsk|key|api|org|proj|tok|ghp|hf|nvapi|pplx|fw|r8)[-_][A-Za-z0-9_*.-]{6,}/gi,
  /\bbearer\s+\S+/gi,
  /\bAIza[A-Za-z0-9_*-]{6,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}/g,
  /\beyJ[A-Za-z0-9_.-]{10,}/g,
  /(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{32,}/g,
];

/** Addresses of a provider's machines, which are not shown; the query of a URL may hold a key. */
const PLACES: readonly RegExp[] = [
  /\b(?:https?|wss?|tcp):\/\/\S+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /(?<![\w.-])[a-z0-9][a-z0-9.-]{0,252}\.(?:internal|local|localdomain|svc|lan|corp)\b(?::\d{1,5})?/gi,
];

/**
 * An upstream's message as it may be shown: nothing key-like, no address, no control characters, at most 500
 * characters.
 */
export function scrub(text: string): string {
  let shown = text.slice(0, LONGEST_READ).replace(/\p{Cc}+/gu, ' ');
  for (const place of PLACES) shown = shown.replace(place, '[address]');
  for (const secret of SECRETS) shown = shown.replace(secret, '[redacted]');
  return shown.slice(0, LONGEST_SHOWN).trim();
}

/** An upstream's refusal without the key that was sent to it: not every key looks like one. */
export function withoutKey(body: Buffer, apiKey: string): Buffer {
  if (apiKey === '' || !body.includes(apiKey)) return body;
  return Buffer.from(body.toString().replaceAll(apiKey, '[redacted]'));
}
