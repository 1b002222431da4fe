import type { Secret } from '@libs/contracts';
import type { Endpoint } from '../catalogue/catalogue';
import { GoogleAccessTokens, unusableDocument } from './google-access-token';
import { apiKeyCredential, type GoogleCredential } from './google-rest';
import { isServiceAccount, readServiceAccount, type ServiceAccount } from './google-service-account';
import type { UpstreamCallHead } from '../wire/upstream-call';

/** Credential and path prefix for calls to Vertex AI. */
export interface VertexDoor {
  readonly credential: GoogleCredential;
  /** The key that is sent to the upstream and that must not be shown to callers. */
  readonly apiKey: Secret | null;
  /** Path before the name of a model: empty, or the project and location. */
  readonly resource: string;
}

/** The key, and the endpoint at which it is used. */
export type VertexCall = Pick<UpstreamCallHead, 'apiKey' | 'endpoint' | 'signal'>;

/**
 * Finds the credential and path for a call. The key is an API key or a service account document, for which access
 * tokens are fetched. `base_url` may end in a project and a location. Without them, the document's project and the
 * endpoint's region are used; an API key needs neither (express mode).
 */
export class VertexAccess {
  constructor(private readonly tokens: GoogleAccessTokens) {}

  /** @throws AppError that does not reveal the key */
  async open(call: VertexCall): Promise<VertexDoor> {
    const { apiKey, endpoint } = call;
    if (apiKey === null || !isServiceAccount(apiKey)) {
      return { credential: apiKeyCredential(call), apiKey, resource: '' };
    }
    const account = readServiceAccount(apiKey);
    if (account === null) throw unusableDocument(endpoint.provider, 'it is no key of a service account');
    const token = await this.tokens.tokenFor(apiKey, account, call);
    const credential = {
      header: ['authorization', `Bearer ${token.reveal()}`],
      onRefused: () => this.tokens.forget(apiKey),
    };
    return { credential, apiKey: token, resource: resourceOf(endpoint, account) };
  }
}

function resourceOf({ provider, region }: Endpoint, { projectId }: ServiceAccount): string {
  if (/\/projects\//.test(provider.baseUrl)) return '';
  if (projectId === undefined) throw unusableDocument(provider, 'neither it nor base_url names a project');
  return `/projects/${projectId}/locations/${encodeURIComponent(region)}`;
}

/**
 * Returns the model's resource name. A name that contains a collection, e.g. `endpoints/123` of a tuned model, is used
 * unchanged.
 */
export function vertexModelName({ upstreamModel }: Endpoint, publisher: 'google' | 'anthropic'): string {
  return encodeURI(upstreamModel.includes('/') ? upstreamModel : `publishers/${publisher}/models/${upstreamModel}`);
}
