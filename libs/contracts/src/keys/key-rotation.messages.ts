import { IsInt, IsOptional, IsUUID, Matches, Max, Min } from 'class-validator';
import { call } from '../messages/contract';
import { queues } from '../messages/queues';
import { IsNameText } from '../organizations/member-rules';
import { API_KEY_HASH, KeyRecord, KeyReference } from './keys.messages';

/** Longest time in seconds for which the old secret of a rotated key may continue to work. */
export const MAX_KEY_OVERLAP = 604_800;
export const DEFAULT_KEY_OVERLAP = 86_400;

/** Gives a key a new secret. Carries only the hash and label of the secret. */
export class RotateKeyRequest extends KeyReference {
  @Matches(API_KEY_HASH)
  secretHash: string;

  @IsNameText(1, 80)
  label: string;

  @IsInt()
  @Min(0)
  @Max(MAX_KEY_OVERLAP)
  overlapSeconds: number;

  /** The same for each attempt of one request. A repeated attempt replaces the secret that the first one set. */
  @IsOptional()
  @IsUUID()
  rotationId?: string;
}

/** Sets the new secret. The old one works for the overlap; earlier ones stop working. Errors: `not_found`. */
export const RotateKey = call({
  queue: queues.auth,
  name: 'auth.rotate-key',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: RotateKeyRequest,
  response: KeyRecord,
});

/** From now on only the current secret works. Has no effect if that is already so. Errors: `not_found`. */
export const EndKeyRotation = call({
  queue: queues.auth,
  name: 'auth.end-key-rotation',
  askedBy: ['gateway'],
  repeat: 'refused',
  timeoutMs: 5_000,
  changes: 'access',
  request: KeyReference,
  response: KeyRecord,
});

export const keyRotationContracts = [RotateKey, EndKeyRotation];
