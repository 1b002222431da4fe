import type { CredentialRegion } from '@libs/contracts';
import { AppError } from '@libs/errors';

/** Providers whose keys contain their region; no other may be declared. */
const REGION_IN_KEY = new Set(['openai', 'fireworks']);
/** Providers with resources in regions that their keys do not name. */
const REGION_DECLARED = new Set(['azure']);

/**
 * Returns the region of a credential: for two providers the one in its key, for all others the declared one. Null and
 * `global` behave alike.
 * @throws AppError invalid_request for a region that does not fit
 */
export function regionOfCredential(
  provider: string,
  keyRegion: CredentialRegion | null,
  declared: CredentialRegion | null,
): CredentialRegion | null {
  if (REGION_IN_KEY.has(provider)) {
    if (declared !== null && declared !== (keyRegion ?? 'global')) {
      throw refused('declared_region must be the region of the key, which is a JSON object with api_key and region');
    }
    return declared ?? keyRegion;
  }
  if (declared !== null && declared !== 'global' && !REGION_DECLARED.has(provider)) {
    throw refused('declared_region can only be global for this provider');
  }
  return declared;
}

/** Returns the region of a credential after its key changed, if the change declares no region. */
export function regionWithNewKey(
  provider: string,
  keyRegion: CredentialRegion | null,
  declared: CredentialRegion | null,
): CredentialRegion | null {
  return REGION_IN_KEY.has(provider) ? keyRegion : declared;
}

function refused(message: string): AppError {
  return new AppError('invalid_request', message, { metadata: { param: 'declared_region' } });
}
