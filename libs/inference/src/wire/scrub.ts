const LONGEST_READ = 4_000;
const LONGEST_SHOWN = 500;

/**
 * Patterns of text that may be a secret or identify our account at a provider. Each pattern runs in linear time: it
 * starts at a fixed word or a word boundary and has one repetition.
 */
const SECRETS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|xai|gsk|key|api|org|proj|tok|ghp|hf|nvapi|pplx|fw|r8)[-_][A-Za-z0-9_*.-]{6,}/gi,
  /\bbearer\s+\S+/gi,
  /\bAIza[A-Za-z0-9_*-]{6,}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{8,}/g,
  /\beyJ[A-Za-z0-9_.-]{10,}/g,
  /(?<![A-Za-z0-9_-])(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{32,}/g,
];

/** Addresses of a provider's machines, which are not shown, and URLs, whose query may contain a key. */
const PLACES: readonly RegExp[] = [
  /\b(?:https?|wss?|tcp):\/\/\S+/gi,
  /\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g,
  /(?<![\w.-])[a-z0-9][a-z0-9.-]{0,252}\.(?:internal|local|localdomain|svc|lan|corp)\b(?::\d{1,5})?/gi,
];

/**
 * Returns an upstream's message in a form that is safe to show: no keys, no addresses, no control characters, at most
 * 500 characters.
 */
export function scrub(text: string): string {
  let shown = text.slice(0, LONGEST_READ).replace(/\p{Cc}+/gu, ' ');
  for (const place of PLACES) shown = shown.replace(place, '[address]');
  for (const secret of SECRETS) shown = shown.replace(secret, '[redacted]');
  return shown.slice(0, LONGEST_SHOWN).trim();
}

/** Removes the key that was sent to an upstream from its refusal, because not every key matches the patterns. */
export function withoutKey(body: Buffer, apiKey: string): Buffer {
  if (apiKey === '' || !body.includes(apiKey)) return body;
  return Buffer.from(body.toString().replaceAll(apiKey, '[redacted]'));
}
