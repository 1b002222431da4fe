import { generateKeyPairSync } from 'node:crypto';
import { FakeUpstream } from '../../testing';
import { GoogleAccessTokens } from '../google-access-token';
import type { UpstreamHttp } from '../../wire/upstream-http';

/** A key pair of an account, made anew for each run. */
export const SERVICE_ACCOUNT_KEYS = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

/** The JSON document of an account of Google's, as its console hands it out. */
export function aServiceAccount(values: object = {}) {
  return {
    type: 'service_account',
    project_id: 'acme-prod',
    client_email: 'sluice@acme-prod.iam.gserviceaccount.com',
    private_key: SERVICE_ACCOUNT_KEYS.privateKey,
    ...values,
  };
}

/** Starts a token endpoint that answers every request with the token `ya29.token`. */
export async function startTokenEndpoint(): Promise<FakeUpstream> {
  const endpoint = await FakeUpstream.start();
  endpoint.answers(200, '{"access_token":"ya29.token","expires_in":3599}');
  return endpoint;
}

export function tokensFrom(endpoint: FakeUpstream, http: UpstreamHttp): GoogleAccessTokens {
  return new GoogleAccessTokens(http, `${endpoint.origin}/token`);
}
