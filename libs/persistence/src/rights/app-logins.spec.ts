import { parseAppLogins, verifierOf } from './app-logins';

describe(parseAppLogins.name, () => {
  it('reads a login and a password for each app, and logins that exist already', () => {
    expect(parseAppLogins('gateway=sluice_gw:p:w=1, batch-worker=bw')).toEqual([
      { app: 'gateway', login: 'sluice_gw', password: 'p:w=1' },
      { app: 'batch-worker', login: 'bw', password: null },
    ]);
    expect(parseAppLogins('')).toEqual([]);
  });

  it('reads how many connections logins may open', () => {
    const logins = parseAppLogins('gateway=gw:pw,auth=au', 'gateway=336');
    expect(logins.map(({ connections }) => connections)).toEqual([336, undefined]);
    for (const limits of ['gateway', 'gateway=0', 'gateway=-1', 'gw=5', 'gateway=5;auth=5']) {
      expect(() => parseAppLogins('', limits)).toThrow('DATABASE_CONNECTIONS must be app=number between commas');
    }
  });

  it.each([
    ['an unknown app', 'cli=x:canary'],
    ['a login that SQL would take otherwise', 'auth=a"b:canary'],
    ['a password with a space', 'auth=a:cana ry'],
    ['no login', 'auth'],
    ['a login of two apps', 'auth=a:canary,gateway=a:canary'],
  ])('refuses %s, and names no password', (_what, text) => {
    expect(() => parseAppLogins(text)).toThrow(/^DATABASE_LOGINS must (?:be app=login:password|name a login)/);
  });
});

describe(verifierOf.name, () => {
  it('makes what PostgreSQL would keep of the password', () => {
    // The example of RFC 7677, section 3.
    const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64');
    expect(verifierOf('pencil', salt)).toBe(
      'SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=',
    );
  });
});
