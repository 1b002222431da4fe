import { parseJson, MalformedJson, numberOf, objectOf } from '@libs/json';
import { brokenAnswer } from '../../wire/upstream-error';
import type { UpstreamReply } from '../../wire/upstream-exchange';
import type { Endpoint } from '../../catalogue/catalogue';
import { modelsOf } from './traits';
import type { EmbeddedBatch } from '../openai-embeddings/answer-writer';

const TOKENS_HEADER = 'x-amzn-bedrock-input-token-count';

/** Returns the vectors of one call. @throws AppError provider_unavailable if the answer is not JSON */
export function readInvocation({ body, headers }: UpstreamReply, endpoint: Endpoint): EmbeddedBatch {
  try {
    const answer = objectOf(parseJson(body));
    const counted = Number(headers[TOKENS_HEADER] ?? Number.NaN);
    const promptTokens = numberOf(answer['inputTextTokenCount']) ?? (Number.isSafeInteger(counted) ? counted : null);
    return { vectors: modelsOf(endpoint).read(answer), promptTokens };
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}
