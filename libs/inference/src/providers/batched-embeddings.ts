import {
  joinEmbeddings,
  readBatchAnswer,
  splitEmbeddings,
  type EmbeddingsLimits,
} from '../dialects/openai-embeddings/batches';
import { callInOrder } from '../wire/ordered-calls';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';

/** Of the calls that one long list of inputs takes. */
const CALLS_AT_ONCE = 4;

/** A list of any length, OpenAI-shaped: what the upstream does not take in one call goes in several. */
export async function embedBatched(
  call: UpstreamCall,
  limits: EmbeddingsLimits | null,
  embed: (call: UpstreamCall) => Promise<UpstreamResult>,
): Promise<UpstreamResult> {
  const batches = limits === null ? null : splitEmbeddings(call.body, limits);
  if (batches === null) return embed(call);
  const { provider } = call.endpoint;
  return await callInOrder(
    {
      items: batches,
      mostAtOnce: CALLS_AT_ONCE,
      ask: async ({ body, inputs }, one) => readBatchAnswer((await embed({ ...one, body })).body, inputs, provider),
      join: (answers) => ({ status: 200, body: joinEmbeddings(answers) }),
    },
    call,
  );
}
