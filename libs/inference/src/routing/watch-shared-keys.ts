import type { CatalogueSource } from '../catalogue/catalogue-source';
import type { SharedCredentials } from './credential-source';

/**
 * Calls `warn` for each variable of the catalogue, now and of each later one, whose value no request can carry. Such a
 * value is often an example that was copied from a guide.
 */
export function watchSharedKeys(
  source: Pick<CatalogueSource, 'current' | 'onChange'>,
  credentials: SharedCredentials,
  warn: (text: string) => void,
): void {
  const warned = new Set<string>();
  const look = (): void => {
    for (const name of credentials.unsendableFor(source.current().providers())) {
      if (warned.has(name)) continue;
      warned.add(name);
      warn(`The value of ${name} is no key: it has a character that no request can carry. It is not used`);
    }
  };
  look();
  source.onChange(look);
}
