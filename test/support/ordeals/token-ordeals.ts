import { randomBytes } from 'node:crypto';
import { hashApiKey } from '@libs/contracts';
import { accepted } from '../failpoint-deaths';
import type { FailpointStage } from './failpoint-stage';
import type { Ordeal } from './ordeal';

const CLAIMS = { sub: 'workload', aud: 'sluice' };

/** An auth app that dies while it exchanges a token. */
export class TokenOrdeals {
  #policy: Promise<string> | undefined;

  constructor(private readonly stage: FailpointStage) {}

  async exchange(): Promise<Ordeal> {
    const policy = await (this.#policy ??= this.#makePolicy());
    const token = await this.#newToken();
    let isMinted = false;
    const load = async (): Promise<void> => {
      accepted(await this.#exchange(policy, token));
      isMinted = true;
    };
    return {
      app: 'auth',
      deaths: [{ point: 'token-id-claimed', pass: 1, load }],
      verify: async () => {
        expect(isMinted).toBe(false);
        expect(await this.#exchange(policy, token)).toMatchObject({ status: 400 });
        expect(await this.#exchange(policy, await this.#newToken())).toMatchObject({ status: 200 });
      },
    };
  }

  async #makePolicy(): Promise<string> {
    const { issuer, installation } = this.stage;
    return this.#make('policies', {
      issuer_id: await this.#make('issuers', { name: 'Test', issuer_url: issuer.url }),
      name: 'made by a test',
      subject: CLAIMS.sub,
      audience: CLAIMS.aud,
      api_key_hash: hashApiKey(installation.seed.apiKey),
      single_use: true,
    });
  }

  async #make(what: string, body: object): Promise<string> {
    const { manager } = this.stage;
    const answer = await manager.request<{ data: { id: string } }>('POST', `/workload-identity/${what}`, body);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 201 });
    return answer.body.data.id;
  }

  #newToken(): Promise<string> {
    return this.stage.issuer.sign({ ...CLAIMS, jti: randomBytes(12).toString('hex') });
  }

  async #exchange(policy: string, token: string): Promise<{ readonly status: number; readonly text: string }> {
    const { baseUrl, seed } = this.stage.installation;
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      federation_policy_id: policy,
      subject_token: token,
    });
    const headers = { authorization: `Bearer ${seed.apiKey}` };
    const answer = await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body: form, headers });
    return { status: answer.status, text: await answer.text() };
  }
}
