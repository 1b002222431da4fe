import { AppError } from '@libs/errors';
import { Egress } from '@libs/platform';
import { CallbackUrls } from './callback-urls';

const OWNER = { defaultCallbackUrl: null };

describe(CallbackUrls.name, () => {
  const urls = new CallbackUrls(new Egress({ allowCidrs: [] }));

  it("takes the request's URL", () => {
    const owner = { defaultCallbackUrl: 'https://workspace.example/' };
    expect(urls.resolve(owner, 'https://receiver.example/hook?a=b')).toBe('https://receiver.example/hook?a=b');
    expect(urls.resolve(OWNER, 'https://xn--bcher-kva.example/')).toBe('https://xn--bcher-kva.example/');
  });

  it("takes the workspace's own where the request names none", () => {
    expect(urls.resolve(OWNER, null)).toBeNull();
    expect(urls.resolve({ defaultCallbackUrl: 'https://receiver.example/' }, null)).toBe('https://receiver.example/');
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
  ])('refuses %j by the name of the member and without repeating it', (url) => {
    let refused: unknown = null;
    try {
      urls.resolve(OWNER, url);
    } catch (thrown) {
      refused = thrown;
    }
    expect(refused).toMatchObject({ code: 'invalid_request', metadata: { param: 'callback_url' } });
    expect((refused as AppError).message).toMatch(/^callback_url /);
    expect((refused as AppError).message).not.toMatch(/receiver|hunter2|127/);
  });
});
