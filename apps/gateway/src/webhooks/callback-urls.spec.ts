import { GetWorkspace, type WorkspaceRecord } from '@libs/contracts';
import { AppError } from '@libs/errors';
import { Egress } from '@libs/platform';
import { FakeMessageBus } from '@libs/platform/testing';
import { CallbackUrls } from './callback-urls';

const OWNER = { organizationId: 'organization', workspaceId: 'workspace' };

describe(CallbackUrls.name, () => {
  let bus: FakeMessageBus;
  let urls: CallbackUrls;
  let defaultCallbackUrl: string | null;

  beforeEach(() => {
    defaultCallbackUrl = null;
    bus = new FakeMessageBus().answers(GetWorkspace, () => ({ defaultCallbackUrl }) as WorkspaceRecord);
    urls = new CallbackUrls(new Egress({ allowCidrs: [] }), bus);
  });

  it("takes the request's URL and asks nobody", async () => {
    expect(await urls.resolve(OWNER, 'https://receiver.example/hook?a=b')).toBe('https://receiver.example/hook?a=b');
    expect(await urls.resolve(OWNER, 'https://xn--bcher-kva.example/')).toBe('https://xn--bcher-kva.example/');
    expect(bus.calls).toEqual([]);
  });

  it("takes the workspace's own where the request names none", async () => {
    expect(await urls.resolve(OWNER, null)).toBeNull();
    defaultCallbackUrl = 'https://receiver.example/';
    expect(await urls.resolve(OWNER, null)).toBe('https://receiver.example/');
  });

  it.each([
    'http://receiver.example/',
    'receiver.example/hook',
    '',
    'https://user@receiver.example/',
    'https://user:hunter2@receiver.example/',
    'https://receiver.example/#fragment',
    'https://192.0.2.1/',
    'https://[2001:db8::1]/',
    'https://localhost/',
    'https://metadata.google.internal/',
    'https://printer.local/',
    'https://receiver.example:22/',
    'https://127.0.0.1.nip.io/',
    'https://10-0-0-1.sslip.io/',
    `https://receiver.example/${'a'.repeat(10_000)}`,
    `https://receiver.example/${'a'.repeat(2_100)}`,
    'javascript:alert(1)',
    'https:\\\\receiver.example',
    'https://①②⑦.⓪.⓪.①',
    'https://0x7f.1/',
    'https://receiver.example/a\nb',
  ])('refuses %j by the name of the member and without repeating it', async (url) => {
    const error = await urls.resolve(OWNER, url).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_request', metadata: { param: 'callback_url' } });
    expect((error as AppError).message).toMatch(/^callback_url /);
    expect((error as AppError).message).not.toMatch(/receiver|hunter2|127/);
  });
});
