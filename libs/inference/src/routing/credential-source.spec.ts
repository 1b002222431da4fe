import { aProvider } from '../testing';
import { SharedCredentials } from './credential-source';

describe(SharedCredentials.name, () => {
  const credentials = new SharedCredentials({
    ACME_API_KEY: ' secret-1\n',
    EMPTY_API_KEY: ' ',
    UNSET_API_KEY: undefined,
    COPIED_API_KEY: 'sk-…',
    WRAPPED_API_KEY: 'sk-first\nsecond',
    SERVICE_ACCOUNT: '{\n  "type": "service_account",\n  "display_name": "Bündel → Köln"\n}',
    PROMPT: 'an arrow → of a shell',
  });
  const provider = (apiKeyEnv: string | null) => aProvider({ apiKeyEnv });

  it('takes the key from the variable that the catalogue names', () => {
    expect(credentials.forProvider(provider('ACME_API_KEY'))?.reveal()).toBe('secret-1');
  });

  it.each(['EMPTY_API_KEY', 'UNSET_API_KEY', 'NO_SUCH_KEY', '__proto__', 'COPIED_API_KEY', 'WRAPPED_API_KEY'])(
    'has no key in %s',
    (name) => {
      expect(credentials.forProvider(provider(name))).toBeNull();
      expect(credentials.availableProviders()(provider(name))).toBe(false);
    },
  );

  it('names the variables of the catalogue whose values no request can carry', () => {
    const names = ['ACME_API_KEY', 'COPIED_API_KEY', 'COPIED_API_KEY', 'WRAPPED_API_KEY', 'SERVICE_ACCOUNT', null];
    expect(credentials.unsendableFor(names.map(provider))).toEqual(['COPIED_API_KEY', 'WRAPPED_API_KEY']);
  });

  it('lets providers that ask for no key be called without', () => {
    expect(credentials.forProvider(provider(null))).toBeNull();
    expect(credentials.availableProviders()(provider(null))).toBe(true);
    expect(credentials.availableProviders()(provider('ACME_API_KEY'))).toBe(true);
  });
});
