import type { Catalogue } from '../catalogue/catalogue';
import { aProvider } from '../testing';
import { SharedCredentials } from './credential-source';
import { watchSharedKeys } from './watch-shared-keys';

const catalogueOf = (...names: string[]): Catalogue =>
  ({ providers: () => names.map((apiKeyEnv) => aProvider({ apiKeyEnv })) }) as unknown as Catalogue;

describe(watchSharedKeys.name, () => {
  it('warns once of each variable whose value no request can carry, without the value', () => {
    const credentials = new SharedCredentials({ ONE_KEY: 'sk-…', TWO_KEY: 'sk-…', GOOD_KEY: 'sk-1' });
    const said: string[] = [];
    let current = catalogueOf('ONE_KEY', 'GOOD_KEY');
    let change: (() => void) | undefined;
    const onChange = (listener: (next: Catalogue) => void) => {
      change = () => listener(current);
      return () => undefined;
    };
    watchSharedKeys({ current: () => current, onChange }, credentials, (text) => said.push(text));
    expect(said).toEqual([
      'The value of ONE_KEY is no key: it has a character that no request can carry. It is not used',
    ]);

    current = catalogueOf('ONE_KEY', 'TWO_KEY');
    change?.();
    expect(said).toHaveLength(2);
    expect(said[1]).toContain('TWO_KEY');
    expect(said.join()).not.toContain('sk-');
  });
});
