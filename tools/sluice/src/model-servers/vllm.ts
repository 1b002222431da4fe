import type { Api } from '@libs/inference';
import { stringOf, type JsonObject } from '@libs/json';
import { COMMON_PARAMETERS, countOf, hasRoute, type ServedModel, type ServerKind } from './served-model';
import type { ServerClient } from './server-client';

const PARAMETERS = [
  ...COMMON_PARAMETERS,
  'top_k',
  'min_p',
  'repetition_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'reasoning',
  'tools',
  'tool_choice',
];
const TOOLS_REMARK = 'tools need a vLLM that was started with --enable-auto-tool-choice and --tool-call-parser';

/** vLLM serves one model, and adapters of it with the same capabilities. */
export const vllm: ServerKind = {
  slug: 'vllm',
  name: 'vLLM',
  async recognizes(listed) {
    return listed.some(({ owned_by: owner }) => owner === 'vllm');
  },
  async describe(listed, client) {
    const apis = await apisOf(stringOf(listed[0]?.['id']) ?? '', client);
    const lengths = new Map(listed.map(({ id, max_model_len: length }) => [id, countOf(length)]));
    return { models: listed.map((card) => toModel(card, apis, lengths)) };
  },
};

function toModel(
  card: JsonObject,
  apis: readonly Api[],
  lengths: ReadonlyMap<unknown, number | undefined>,
): ServedModel {
  const converses = apis.includes('chat');
  return {
    id: stringOf(card['id']) ?? '',
    apis,
    // An adapter has the length of the model that it is for.
    contextLength: countOf(card['max_model_len']) ?? lengths.get(card['parent']),
    created: countOf(card['created']),
    ...(converses && { supportedParameters: PARAMETERS }),
    remarks: converses ? [TOOLS_REMARK] : [],
  };
}

async function apisOf(id: string, client: ServerClient): Promise<readonly Api[]> {
  if (await embeds(id, client)) return ['embeddings'];
  if (!(await hasRoute(client, '/v1/chat/completions'))) return [];
  return (await hasRoute(client, '/v1/responses')) ? ['chat', 'responses'] : ['chat'];
}

/** Older versions have the route for every model and refuse the call, so one letter is embedded to find out. */
async function embeds(id: string, client: ServerClient): Promise<boolean> {
  const { status } = await client.post('/v1/embeddings', { model: id, input: 'a' });
  return status === 200;
}
