import { setImmediate as turn } from 'node:timers/promises';
import { Secret } from '@libs/contracts';
import { importSPKI, jwtVerify } from 'jose';
import { anEndpoint, FakeUpstream } from '../testing';
import { GoogleAccessTokens } from './google-access-token';
import { readServiceAccount } from './google-service-account';
import { aServiceAccount, SERVICE_ACCOUNT_KEYS } from './testing/service-account';
import { UpstreamHttp } from '../wire/upstream-http';

const documentOf = (values: object = {}) =>
  new Secret(
    JSON.stringify(
      aServiceAccount({
        private_key_id: 'key-1',
        // The token endpoint that a document names must not be used.
        token_uri: 'https://attacker.example/token',
        ...values,
      }),
    ),
  );

describe(GoogleAccessTokens.name, () => {
  let endpoint: FakeUpstream;
  let http: UpstreamHttp;
  let tokens: GoogleAccessTokens;
  let nowMs: number;
  let elapsedMs: number;

  beforeEach(async () => {
    nowMs = 1_800_000_000_000;
    endpoint = await FakeUpstream.start();
    http = new UpstreamHttp();
    elapsedMs = 0;
    tokens = new GoogleAccessTokens(
      http,
      `${endpoint.origin}/token`,
      () => nowMs,
      () => elapsedMs,
    );
    endpoint.behaviour = (response) =>
      response.writeHead(200).end(`{"access_token":"ya29.${endpoint.requests.length}","expires_in":3600}`);
  });

  afterEach(async () => {
    await endpoint.close();
    await http.close();
  });

  const call = (signal: AbortSignal = new AbortController().signal) => ({
    endpoint: anEndpoint(),
    apiKey: null,
    body: Buffer.alloc(0),
    signal,
    timeouts: { headersMs: 1_000, idleMs: 1_000, totalMs: 1_000 },
  });
  const fetch = async (document = documentOf(), signal?: AbortSignal) =>
    (await tokens.tokenFor(document, readServiceAccount(document)!, call(signal))).reveal();

  it('asks with an assertion that the account signed, at the one address it knows', async () => {
    expect(await fetch()).toBe('ya29.1');
    const [{ path, headers, body }] = endpoint.requests as [(typeof endpoint.requests)[0]];
    expect({ path, type: headers['content-type'] }).toEqual({
      path: '/token',
      type: 'application/x-www-form-urlencoded',
    });
    const form = new URLSearchParams(body);
    expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer');
    const { payload, protectedHeader } = await jwtVerify(
      form.get('assertion')!,
      await importSPKI(SERVICE_ACCOUNT_KEYS.publicKey, 'RS256'),
      {
        audience: `${endpoint.origin}/token`,
        issuer: 'sluice@acme-prod.iam.gserviceaccount.com',
        currentDate: new Date(nowMs),
      },
    );
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' });
    expect(payload).toMatchObject({
      scope: 'https://www.googleapis.com/auth/cloud-platform',
      iat: nowMs / 1_000,
      exp: nowMs / 1_000 + 3_600,
    });
  });

  it('keeps a token until a minute before it expires', async () => {
    await fetch();
    elapsedMs += 3_539_000;
    expect(await fetch()).toBe('ya29.1');
    // The clock of the host may be set back meanwhile.
    nowMs -= 3_600_000;
    elapsedMs += 1_000;
    expect(await fetch()).toBe('ya29.2');
  });

  it('fetches once for all who wait, and for each document its own', async () => {
    expect(await Promise.all([fetch(), fetch(), fetch()])).toEqual(['ya29.1', 'ya29.1', 'ya29.1']);
    expect(await fetch(documentOf({ private_key_id: 'key-2' }))).toBe('ya29.2');
  });

  it('lets a caller leave without ending the fetch for the others', async () => {
    const leaving = new AbortController();
    let answer = (): void => undefined;
    endpoint.behaviour = (response) => (answer = () => response.writeHead(200).end('{"access_token":"ya29.x"}'));
    const [left, stayed] = [fetch(documentOf(), leaving.signal), fetch()];
    while (endpoint.requests.length === 0) await turn();
    leaving.abort();
    await expect(left).rejects.toMatchObject({ code: 'request_timeout' });
    answer();
    expect(await stayed).toBe('ya29.x');
  });

  it('fetches anew after a failure and when told to forget', async () => {
    endpoint.answers(500, '');
    await expect(fetch()).rejects.toMatchObject({ code: 'provider_unavailable' });
    endpoint.answers(200, '{"access_token":"ya29.y"}');
    expect(await fetch()).toBe('ya29.y');
    tokens.forget(documentOf());
    await fetch();
    expect(endpoint.requests).toHaveLength(3);
  });

  it.each<[number, string, object]>([
    [
      400,
      '{"error":"invalid_grant","error_description":"Invalid JWT Signature for sluice@acme"}',
      { code: 'provider_unavailable' },
    ],
    [401, '{"error":"invalid_client"}', { code: 'provider_unavailable' }],
    [429, '', { code: 'rate_limit_exceeded' }],
    [503, '', { code: 'provider_overloaded' }],
    [200, '{"id_token":"eyJhbGciOi"}', { code: 'provider_unavailable' }],
    [200, '<html>', { code: 'provider_unavailable' }],
  ])('maps %i %s, and shows nothing of it', async (status, body, expected) => {
    endpoint.answers(status, body);
    const thrown = (await fetch().catch((error: unknown) => error)) as { internal?: string; message: string };
    expect(thrown).toMatchObject({ ...expected, retryable: true });
    expect(`${JSON.stringify(thrown)} ${thrown.message} ${thrown.internal}`).not.toMatch(
      /acme-prod\.iam|invalid_|JWT|eyJ|<html/,
    );
  });

  it('cannot use a document whose key is none', async () => {
    const thrown = (await fetch(documentOf({ private_key: 'hunter2' })).catch((error: unknown) => error)) as Error;
    expect(thrown).toMatchObject({ code: 'provider_unavailable', retryable: true });
    expect(thrown.cause).toBeUndefined();
    expect(endpoint.requests).toHaveLength(0);
  });
});
