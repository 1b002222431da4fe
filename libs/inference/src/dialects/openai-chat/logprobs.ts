import { objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { TokenLogprob } from '../../model/canonical-answer';

/** Returns the log probabilities of a choice, of its text or of its refusal; undefined if there are none. */
export function readLogprobs(choice: JsonObject): readonly TokenLogprob[] | undefined {
  const logprobs = objectOf(choice['logprobs']);
  const list = [...objectsOf(logprobs['content']), ...objectsOf(logprobs['refusal'])];
  if (list.length === 0) return undefined;
  return list.map((token) => ({ ...readToken(token), top: objectsOf(token['top_logprobs']).map(readToken) }));
}

function readToken(token: JsonObject): Omit<TokenLogprob, 'top'> {
  const { bytes, logprob } = token;
  return {
    token: stringOf(token['token']) ?? '',
    bytes: Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number') ? bytes : null,
    // Returns a log probability; null for an impossible token, because JSON has no infinity.
    logprob: typeof logprob === 'number' ? logprob : -9999,
  };
}

export function writeLogprobs(tokens: readonly TokenLogprob[] | undefined, kind: 'content' | 'refusal'): object | null {
  if (tokens === undefined) return null;
  const list = tokens.map(({ top, ...token }) => ({ ...token, top_logprobs: top }));
  return { content: null, refusal: null, [kind]: list };
}
