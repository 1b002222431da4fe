import { formTokenOf, isFormTokenOf, newSecret, readCookie, setCookie } from './consent-cookies';
import { callbackWith, codeRequestOf, queryOf, readApp, readChoices } from './consent-request';
import { html } from './html';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const CALLBACK = 'https://app.example/cb?state=a%26b';

const fields = (members: object): Map<string, string> => new Map(Object.entries(members));

describe(html.name, () => {
  it('escapes whatever is text, wherever it stands', () => {
    const hostile = `"><script>alert('1')</script>&`;
    expect(html`<a title="${hostile}">${hostile}</a>`.markup).toBe(
      '<a title="&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;">' +
        '&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;</a>',
    );
  });

  it('puts markup into markup as it is, and nothing for null', () => {
    expect(html`<p>${html`<b>${1}</b>`}${[html`a`, html`<i></i>`]}${null}</p>`.markup).toBe('<p><b>1</b>a<i></i></p>');
  });
});

describe('what the page was asked', () => {
  it.each<[string, object]>([
    ['a callback', { callback_url: CALLBACK }],
    [
      'a callback and a challenge',
      { callback_url: CALLBACK, code_challenge: CHALLENGE, code_challenge_method: 'S256' },
    ],
    ['a challenge alone', { code_challenge: CHALLENGE }],
  ])('may be %s, and survives being asked again', (_what, members) => {
    const app = readApp(fields(members));
    const choices = readChoices(fields({ limit: '2.5', expires_at: '2099-01-02T03:04:05Z', key_label: 'a & b' }));
    const query = new URLSearchParams(queryOf(app, choices));
    expect(readApp(new Map(query))).toEqual(app);
    expect(readChoices(new Map(query))).toEqual(choices);
  });

  it.each<[string, object]>([
    ['nothing', {}],
    ['an empty callback', { callback_url: '' }],
    ['a script', { callback_url: 'javascript:alert(1)' }],
    ['http elsewhere', { callback_url: 'http://app.example' }],
    ['a method without challenge', { callback_url: CALLBACK, code_challenge_method: 'S256' }],
    ['an unknown method', { code_challenge: CHALLENGE, code_challenge_method: 's256' }],
    ['a challenge too short', { code_challenge: 'a'.repeat(42), code_challenge_method: 'S256' }],
  ])('may not be %s', (_what, members) => {
    expect(() => readApp(fields(members))).toThrow(expect.objectContaining({ code: 'invalid_request' }));
  });

  it('becomes a code with what was chosen', () => {
    const app = readApp(fields({ code_challenge: CHALLENGE }));
    const chosen = { limit: ' 10 ', usage_limit_type: 'daily', expires_on: '2099-12-31', key_label: ' Mine ' };
    expect(codeRequestOf(app, readChoices(fields(chosen)))).toEqual({
      code_challenge: CHALLENGE,
      limit: 10,
      usage_limit_type: 'daily',
      expires_at: '2099-12-31T23:59:59Z',
      key_label: 'Mine',
    });
  });

  it.each<[string, object]>([
    ['limit', { limit: 'ten' }],
    ['limit', { limit: '-1' }],
    ['limit', { limit: '1e3' }],
    ['usage_limit_type', { usage_limit_type: 'hourly' }],
    ['expires_on', { expires_on: 'tomorrow' }],
    ['expires_at', { expires_on: '2099-02-30' }],
    ['workspace_id', { workspace_id: 'default' }],
    ['key_label', { key_label: 'a'.repeat(101) }],
  ])('refuses a %s that is none: %j', (member, chosen) => {
    const app = readApp(fields({ code_challenge: CHALLENGE }));
    expect(() => codeRequestOf(app, readChoices(fields(chosen)))).toThrow(
      expect.objectContaining({ message: expect.stringContaining(member) }),
    );
  });

  it('is answered beside what the callback had in its query', () => {
    expect(callbackWith(CALLBACK, { code: 'auth_code_x' })).toBe('https://app.example/cb?state=a%26b&code=auth_code_x');
  });
});

describe('the cookies of the page', () => {
  const secret = newSecret();

  it('are read back as they were set, and as nothing else', () => {
    expect(readCookie(`other=1; consent_form=${secret}`, 'consent_form')).toBe(secret);
    for (const header of [
      undefined,
      'consent_form=',
      'consent_form=short',
      `x_consent_form=${secret}`,
      `consent_form=${secret}; consent_form=${newSecret()}`,
    ]) {
      expect(readCookie(header, 'consent_form')).toBeNull();
    }
  });

  it('stay on this site and out of scripts, and on TLS where there is any', () => {
    const cookie = setCookie('consent_form', secret, 'https://sluice.example');
    expect(cookie).toBe(`consent_form=${secret}; Path=/auth; HttpOnly; SameSite=Strict; Max-Age=3600; Secure`);
    expect(setCookie('consent_form', null, 'http://127.0.0.1:8080')).toBe(
      'consent_form=; Path=/auth; HttpOnly; SameSite=Strict; Max-Age=0',
    );
  });

  it('have a form token each', () => {
    expect(isFormTokenOf(secret, formTokenOf(secret))).toBe(true);
    for (const given of [undefined, '', formTokenOf(newSecret()), secret]) {
      expect(isFormTokenOf(secret, given)).toBe(false);
    }
    expect(isFormTokenOf(null, formTokenOf(secret))).toBe(false);
  });
});
