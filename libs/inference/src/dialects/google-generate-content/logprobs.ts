import { numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { TokenLogprob } from '../../model/canonical-answer';

/** JSON has no infinities: what is impossible comes without a number. */
const IMPOSSIBLE = -9999;

/** The tokens of a candidate or chunk, each with the likeliest in its place; undefined without any. */
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
