import { objectOf, stringOf, type JsonObject } from '@libs/json';
import { apiByName, countOf, type ServedModel, type ServerKind } from './served-model';

const REMARK = 'the server does not say which APIs the model has: apis are guessed by its name';

/** Any other server with OpenAI's list of models: SGLang, LM Studio, a hosted service. */
export const openaiCompatible: ServerKind = {
  slug: 'local',
  name: 'OpenAI-compatible server',
  recognizes: () => Promise.resolve(true),
  describe: (listed) => Promise.resolve({ models: listed.map(toModel) }),
};

function toModel(card: JsonObject): ServedModel {
  const id = stringOf(card['id']) ?? '';
  const { max_model_len: served, context_length: length, max_context_length: longest } = card;
  return {
    id,
    apis: [apiByName(id)],
    contextLength: countOf(served) ?? countOf(length) ?? countOf(longest) ?? countOf(objectOf(card['meta'])['n_ctx']),
    created: countOf(card['created']),
    remarks: [REMARK],
  };
}
