/**
 * The last safeguard before a log line leaves the process: text that looks like a credential is replaced anywhere in
 * the serialized line, including JSON quoted inside a text.
 *
 * Every pattern runs in linear time, and none matches a quote or the backslash before one, so the line stays valid
 * JSON. It does not replace the rule that secrets are held in `Secret` and never reach a log call.
 */
const REDACTED = '[redacted]';

const NOT_IN_WORD = '(?<![A-Za-z0-9_])';

/** `sk-sluice-v1-abc...xyz`, without its first letters: made to be shown. */
const OUR_LABEL = '[a-z0-9-]{1,54}[A-Za-z0-9]{3}\\.\\.\\.[A-Za-z0-9]{3}(?![A-Za-z0-9])';

/** Keys that carry their kind in the first letters. */
const PREFIXED_KEYS = [
  `sk-(?!${OUR_LABEL})[A-Za-z0-9_-]{8,}`, // OpenAI, Anthropic, OpenRouter, DeepSeek, our own
  '(?:sk|rk|pk)_[A-Za-z0-9_]{16,}', // Stripe, ElevenLabs
  'whsec_[A-Za-z0-9+/=_-]{8,}',
  '(?:gsk|hf|r8|fw|npm|jina|tgp_v1)_[A-Za-z0-9_-]{16,}',
  '(?:xai|csk|pplx|nvapi|tvly|glpat|pa)-[A-Za-z0-9_-]{16,}',
  'gh[pousr]_[A-Za-z0-9]{16,}',
  'github_pat_[A-Za-z0-9_]{16,}',
  'xox[a-z]-[A-Za-z0-9-]{10,}',
  '(?:AKIA|ASIA)[A-Z0-9]{16}',
  'AIza[A-Za-z0-9_-]{30,}',
  'ya29\\.[A-Za-z0-9_.-]{10,}',
  'dapi[a-f0-9]{32}',
  'hvs\\.[A-Za-z0-9_-]{16,}',
  'eyJ[A-Za-z0-9_-]{8,}(?:\\.[A-Za-z0-9_-]*){0,4}', // JWT, JWE
];

const PREFIXED = new RegExp(`${NOT_IN_WORD}(?:${PREFIXED_KEYS.join('|')})`, 'g');

/** `Bearer …`, `Basic …`, also with the blank percent-encoded. */
const SCHEME = /\b([Bb]earer|BEARER)((?: |%20|\+)+)[A-Za-z0-9._~+/=-]{8,}/g;
const WORDY_SCHEME = /\b(Basic|ApiKey|Token)((?: |%20|\+)+)[A-Za-z0-9._~+/=-]{16,}/g;

/** 32 bytes in base64: a key-encryption key of the key ring. */
const KEY_BYTES = /(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=(?!=)/g;

const PRIVATE_KEY = /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:\\+[nr]|[A-Za-z0-9+/= \n-])*/g;

/** The private members of a JWK. */
const JWK_MEMBER = /((?<!\\)\\*"(?:d|p|q|dp|dq|qi|k)\\*"\s*:\s*\\*")[A-Za-z0-9_-]{32,}/g;

const SECRET_NAME =
  '(?:(?:[a-z0-9]+[_-]){0,4}(?:api[_-]?key|apikey|password|passwd|passphrase|secret|credentials?)|(?:[a-z]+-){0,2}authorization' +
  '|(?:access|refresh|id|auth|session|subject|actor|client|bearer|security)[_-]?token|token|(?:set-)?cookie|private[_-]?key' +
  '|secret[_-]?access[_-]?key|client[_-]?secret|code[_-]?verifier|client[_-]?assertion|signature|x-goog-api-key)';

/** `"password":"…"` as a field of the line itself. */
const JSON_MEMBER = new RegExp(`((?<!\\\\)"${SECRET_NAME}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)+`, 'gi');

/**
 * The same field inside JSON that was quoted into a text: one backslash and a quote end the value, three are part of
 * it.
 */
const QUOTED_JSON_MEMBER = new RegExp(
  `((?<!\\\\)\\\\+"${SECRET_NAME}\\\\+"\\s*:\\s*\\\\+")(?:[^"\\\\]|\\\\(?:\\\\\\\\)+"|\\\\+[^"\\\\])+`,
  'gi',
);

/** `x-api-key: …`, `password=…`, up to a blank or a mark that ends a value. */
const ASSIGNMENT = new RegExp(
  `(?<![A-Za-z0-9])(${SECRET_NAME}\\s?[=:]\\s?(?:(?:bearer|basic|apikey|token|digest) )?)(?!\\[redacted\\])[^\\s"'\\\\,;&<>(){}\\[\\]]{4,}`,
  'gi',
);

/** Query parameters that carry credentials. */
const QUERY =
  /([?&](?:key|api[_-]?key|token|access_token|code|sig|signature|secret|password|x-amz-(?:signature|credential|security-token)|x-goog-signature)=)[^&\s"'\\#]+/gi;

/** `scheme://user:password@host`; a connection URL may hold unescaped marks in its password. */
const URL_PASSWORD = /(:\/\/[^\s"\\/@:?#]{0,256}):[^\s"\\/?#]{1,1024}@/g;
const CONNECTION_PASSWORD = /((?:postgres(?:ql)?|amqps?|rediss?):\/\/[^\s"\\/@:]{0,256}):[^\s"\\]{1,1024}@/g;

export function scrubLine(line: string): string {
  return line
    .replace(PRIVATE_KEY, REDACTED)
    .replace(CONNECTION_PASSWORD, `$1:${REDACTED}@`)
    .replace(URL_PASSWORD, `$1:${REDACTED}@`)
    .replace(QUERY, `$1${REDACTED}`)
    .replace(JSON_MEMBER, `$1${REDACTED}`)
    .replace(QUOTED_JSON_MEMBER, `$1${REDACTED}`)
    .replace(SCHEME, `$1$2${REDACTED}`)
    .replace(WORDY_SCHEME, `$1$2${REDACTED}`)
    .replace(PREFIXED, REDACTED)
    .replace(JWK_MEMBER, `$1${REDACTED}`)
    .replace(ASSIGNMENT, `$1${REDACTED}`)
    .replace(KEY_BYTES, REDACTED);
}
