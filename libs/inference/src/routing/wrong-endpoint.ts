import { APIS, type Api, type Endpoint } from '../catalogue/catalogue-entries';
import type { ResolvedModel } from './route-model';
import type { Reason } from './route-refusal';

const ROUTES: Readonly<Record<Api, string>> = {
  chat: 'POST /chat/completions',
  responses: 'POST /responses',
  messages: 'POST /messages',
  embeddings: 'POST /embeddings',
  transcription: 'POST /audio/transcriptions',
  video: 'POST /videos',
};

/** Returns why no endpoint of a model serves an API, with the routes with which the model can be used. */
export function wrongEndpoint(
  api: Api,
  { model }: Pick<ResolvedModel, 'model'>,
  canServe: (endpoint: Endpoint, api: Api) => boolean,
): Reason {
  const served = APIS.filter((other) => model.endpoints.some((endpoint) => canServe(endpoint, other)));
  const advice =
    served.length === 0 ? 'choose another model' : `use ${served.map((other) => ROUTES[other]).join(' or ')}`;
  return reasonOf(`{model} cannot be used with ${ROUTES[api]}; ${advice}`);
}

/** Returns why a model with the suffix `:online` cannot be used with an API without a conversation. */
export function onlineElsewhere(api: Api): Reason {
  return reasonOf(`{model} cannot be used with ${ROUTES[api]}, which does not search the web; leave out :online`);
}

function reasonOf(message: string): Reason {
  return { error: 'invalid_request', code: 'wrong_endpoint', message };
}
