import { randomBytes } from 'node:crypto';
import { hashApiKey } from '@libs/contracts';
import type { FailpointStage } from './failpoint-stage';
import type { Ordeal } from './ordeal';

const CLAIMS = { sub: 'workload', aud: 'sluice' };

/** An auth app that dies while it exchanges a token. */
export class TokenOrdeals {
  #policy: Promise<string> | undefined;

  constructor(private readonly stage: FailpointStage) {}

  async exchange(): Promise<Ordeal> {
    const policy = await (this.#policy ??= this.#makePolicy());
    const [token, statuses] = [await this.#newToken(), [] as number[]];
    const load = async (): Promise<unknown> => statuses.push(await this.#exchange(policy, token));
    return {
      app: 'auth',
      deaths: [{ point: 'token-id-claimed', pass: 1, load }],
      verify: async () => {
        expect(statuses).not.toContain(200);
        expect(await this.#exchange(policy, token)).toBe(400);
        expect(await this.#exchange(policy, await this.#newToken())).toBe(200);
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

  /** The status of the answer. */
  async #exchange(policy: string, token: string): Promise<number> {
    const { baseUrl, seed } = this.stage.installation;
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      federation_policy_id: policy,
      subject_token: token,
    });
    const headers = { authorization: `Bearer ${seed.apiKey}` };
    return (await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body: form, headers })).status;
  }
}
