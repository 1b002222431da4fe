import {
  joinEmbeddings,
  readBatchAnswer,
  splitEmbeddings,
  type EmbeddingsLimits,
} from '../dialects/openai-embeddings/batches';
import { callInOrder } from '../wire/ordered-calls';
import type { UpstreamCall, UpstreamResult } from '../wire/upstream-call';

/** Most calls at once for one long list of inputs. */
const CALLS_AT_ONCE = 4;

/**
 * Embeds a list of any length in OpenAI's form; splits it into several calls if the upstream does not accept it in one.
 */
export async function embedBatched(
  call: UpstreamCall,
  limits: EmbeddingsLimits,
  embed: (call: UpstreamCall) => Promise<UpstreamResult>,
): Promise<UpstreamResult> {
  const batches = splitEmbeddings(call.body, limits);
  if (batches === null) return embed(call);
  const { provider } = call.endpoint;
  return await callInOrder(
    {
      items: batches,
      mostAtOnce: CALLS_AT_ONCE,
      inputsOf: ({ inputs }) => inputs,
      ask: async ({ body, inputs }, one) => readBatchAnswer((await embed({ ...one, body })).body, inputs, provider),
      join: (answers) => ({ status: 200, body: joinEmbeddings(answers) }),
    },
    call,
  );
}
