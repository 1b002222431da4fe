import { isObject, type JsonObject } from '@libs/json';
import { llamaCpp } from './llama-cpp';
import { ollama } from './ollama';
import { openaiCompatible } from './openai-compatible';
import { MOST_MODELS, type ServedModels, type ServerKind } from './served-model';
import { unreachable, type ServerClient } from './server-client';
import { vllm } from './vllm';

/** The first that recognizes a server describes it. */
const KINDS: readonly ServerKind[] = [vllm, llamaCpp, ollama, openaiCompatible];

export interface DiscoveredServer extends ServedModels {
  readonly kind: Pick<ServerKind, 'slug' | 'name'>;
}

/** Asks a running model server which models it serves. @throws AppError */
export async function discoverServer(client: ServerClient): Promise<DiscoveredServer> {
  const listed = await listModels(client);
  for (const kind of KINDS) {
    if (await kind.recognizes(listed, client)) return { kind, ...(await kind.describe(listed, client)) };
  }
  throw unreachable('is of no known kind');
}

async function listModels(client: ServerClient): Promise<readonly JsonObject[]> {
  const { status, body } = await client.get('/v1/models');
  if (status === 401 || status === 403) {
    throw unreachable(`answered ${status} at /v1/models: --key-env must name a variable with a key that it takes`);
  }
  if (status !== 200) throw unreachable(`answered ${status} at /v1/models: is it a model server with OpenAI's API?`);
  const data = body?.['data'];
  // A server without models may answer null.
  if (!Array.isArray(data) && data !== null) throw unreachable('answered /v1/models without a list of models');
  // Some servers list a model once for each of its copies.
  const listed = [...new Map((data ?? []).filter(isObject).map((card) => [card['id'], card])).values()];
  if (listed.length === 0) throw unreachable('has no models yet');
  if (listed.length > MOST_MODELS) throw unreachable(`has more than ${MOST_MODELS} models`);
  return listed;
}
