import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { TokenLogprob } from '../../model/canonical-answer';

/** Log probability of an impossible token. JSON has no infinity, so such a token has no number. */
const IMPOSSIBLE = -9999;

/**
 * Returns the tokens of a candidate or chunk, each with the likeliest alternatives at its position; undefined if there
 * are none.
 */
export function readLogprobs(candidate: JsonObject): readonly TokenLogprob[] | undefined {
  const result = objectOf(candidate['logprobsResult']);
  const chosen = objectsOf(result['chosenCandidates']);
  if (chosen.length === 0) return undefined;
  const alternatives = objectsOf(result['topCandidates']);
  return chosen.map((token, index) => ({
    ...readToken(token),
    top: objectsOf(alternatives[index]?.['candidates']).map(readToken),
  }));
}

function readToken(token: JsonObject): Omit<TokenLogprob, 'top'> {
  return {
    token: stringOf(token['token']) ?? '',
    bytes: null,
    logprob: numberOf(token['logProbability']) ?? IMPOSSIBLE,
  };
}
