import { callbackHost } from './callback-url';

describe(callbackHost.name, () => {
  it.each([
    ['https://app.example.com/cb?state=1', 'app.example.com'],
    ['https://app.example.com:8443', 'app.example.com'],
    ['HTTPS://APP.example.COM./cb', 'app.example.com'],
    ['https://10.0.0.1/cb', '10.0.0.1'],
    ['https://[2001:db8::1]:443/', '[2001:db8::1]'],
    ['http://localhost:51423/cb', 'localhost'],
    ['http://LOCALHOST/cb', 'localhost'],
    ['http://127.0.0.1:1/', '127.0.0.1'],
    ['http://127.0.0.1:65535', '127.0.0.1'],
    [`https://a.example/${'x'.repeat(2_030)}`, 'a.example'],
  ])('is the host of %s', (url, host) => {
    expect(callbackHost(url)).toBe(host);
  });

  it.each([
    [
      'another scheme',
      ['javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'custom:cb', 'ftp://a.example'],
    ],
    ['no scheme, no host', ['', '//app.example', 'app.example', 'https:///x', 'https://', 'https://?a', 'https:app']],
    ['http elsewhere', ['http://example.com', 'http://localhost.evil.com', 'http://127.0.0.1.nip.io']],
    [
      'other names for loopback',
      [
        'http://127.0.0.2',
        'http://127.1',
        'http://2130706433',
        'http://0x7f.1',
        'http://0177.0.0.1',
        'http://[::1]',
        'http://0',
        'http://localhost.',
        'http://１２７.0.0.1',
        'http://127。0。0。1',
      ],
    ],
    ['a host that is no name', ['https://a;b.example', "https://a'b.example", 'https://a,b.example', 'https://.']],
    ['a user', ['http://localhost@evil.com', 'https://user:secret@app.example', 'https://@app.example/']],
    ['a fragment', ['http://evil.com#localhost', 'https://app.example/#', 'https://app.example/cb#x']],
    [
      'characters that readers disagree on',
      [
        'https://app.example\\@evil.com',
        'https://app.example/a b',
        'https://app.example/\r\nx',
        ' https://app.example',
      ],
    ],
    [
      'a bad port',
      [
        'https://a.example:0',
        'https://a.example:65536',
        'http://localhost:abc',
        'http://localhost:',
        'https://a.example:000080',
      ],
    ],
    ['too long', [`https://a.example/${'x'.repeat(2_031)}`]],
  ])('is null with %s', (_why, urls) => {
    expect(urls.filter((url) => callbackHost(url) !== null)).toEqual([]);
  });

  it('judges a long text at once', () => {
    expect(callbackHost(`https://${'a:'.repeat(1_000_000)}`)).toBeNull();
  });
});
