import { randomBytes } from 'node:crypto';
import { eventually } from '../eventually';
import { accepted } from '../failpoint-deaths';
import { Operator } from '../operator';
import { END_MS, remove, type FailpointStage } from './failpoint-stage';
import type { Ordeal } from './ordeal';

/** A key of a keyring, as an operator writes it. */
export function newRingKey(): string {
  return `${randomBytes(6).toString('hex')}:${randomBytes(32).toString('base64')}`;
}

/** A credentials app that dies with callers' own keys in its hands. */
export class CredentialOrdeals {
  constructor(
    private readonly stage: FailpointStage,
    /** With which the app was started. */
    private ring: string,
  ) {}

  async rewrapping(): Promise<Ordeal> {
    const { installation } = this.stage;
    const { id, key } = await this.bring();
    const [newest, older] = [newRingKey(), this.ring];
    this.ring = newest;
    const rotate = (): Promise<object> => new Operator(installation).run<object>('credentials', 'rotate-kek');
    return {
      app: 'credentials',
      deaths: [{ point: 'data-keys-rewrapped', pass: 1, load: rotate }],
      environment: { CREDENTIALS_KEYRING: `${newest},${older}` },
      verify: async () => {
        await this.callsWith(key);
        expect(await rotate()).toMatchObject({ key_id: newest.split(':')[0], remaining: 0, failed_ids: [] });
        await installation.stopApp('credentials');
        await installation.startApp('credentials', 'credentials', [{ CREDENTIALS_KEYRING: newest }]);
        await this.callsWith(key);
        expect((await remove(`/byok/${id}`, this.stage.manager)).status).toBe(200);
      },
    };
  }

  async erasing(): Promise<Ordeal> {
    const { stage } = this;
    const { id } = await this.bring();
    return {
      app: 'credentials',
      deaths: [
        { point: 'credential-erased', pass: 1, load: async () => accepted(await remove(`/byok/${id}`, stage.manager)) },
      ],
      environment: { CREDENTIALS_KEYRING: this.ring },
      verify: async () => {
        const isHalf = '(deleted_at IS NULL) <> (sealed_key IS NOT NULL AND wrapped_data_key IS NOT NULL)';
        expect(await stage.count(`SELECT count(*) FROM credentials WHERE ${isHalf}`)).toBe(0);
        expect([200, 404]).toContain((await remove(`/byok/${id}`, stage.manager)).status);
        expect((await stage.manager.request('GET', `/byok/${id}`)).status).toBe(404);
      },
    };
  }

  private async bring(): Promise<{ readonly id: string; readonly key: string }> {
    const key = `csk-${randomBytes(24).toString('hex')}`;
    const body = { key, provider: 'cerebras' };
    const answer = await this.stage.manager.request<{ data: { id: string } }>('POST', '/byok', body);
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
    return { id: answer.body.data.id, key };
  }

  private callsWith(key: string): Promise<true> {
    const { client, providers } = this.stage;
    return eventually('the key of the caller is used', END_MS, async () => {
      const messages = [{ role: 'user', content: 'Hello?' }];
      const { status } = await client.chat({ model: 'tests/own', messages, max_tokens: 8 });
      return status === 200 && providers.lastKeys.get('own') === `Bearer ${key}` ? true : undefined;
    });
  }
}
