import { AwsKmsKey, type AwsKmsPlaces } from './aws-kms-key';
import { GcpKmsKey, type GcpKmsPlaces } from './gcp-kms-key';
import type { ManagedKey } from './managed-key';
import type { ManagedKeyName } from './managed-key-name';
import { VaultTransitKey, type VaultPlaces } from './vault-transit-key';

export type KeyServicePlaces = AwsKmsPlaces & GcpKmsPlaces & VaultPlaces;

/** Returns the client for a managed key. Sends no request before the key is used. */
export function openManagedKey(name: ManagedKeyName, places: KeyServicePlaces): ManagedKey {
  switch (name.service) {
    case 'aws-kms':
      return new AwsKmsKey(name, places);
    case 'gcp-kms':
      return new GcpKmsKey(name, places);
    case 'vault-transit':
      return new VaultTransitKey(name, places);
  }
}
