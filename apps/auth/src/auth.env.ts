import type { Secret } from '@libs/contracts';
import { CidrList, Int, loadEnv, SecretText, ServicesEnv } from '@libs/platform';
import { IsOptional } from 'class-validator';
import { AreSigningKeys } from './tokens/are-signing-keys';

export class AuthEnv extends ServicesEnv {
  override HEALTH_PORT: number = 8_085;

  /** A JSON list of ES256 private JWKs; the first one signs, all are published. Without them no token is exchanged. */
  @IsOptional()
  @SecretText({ expected: 'a JSON list of ES256 private JWKs', maxLength: 65_536 })
  @AreSigningKeys()
  TOKEN_SIGNING_KEYS?: Secret;

  /** How many days the audit trail of management keys is kept: at least 90. */
  @Int({ min: 90, max: 3_650 })
  AUDIT_RETENTION_DAYS: number = 365;

  /** The UTC hour from which on the ledger is audited, once a day. */
  @Int({ min: 0, max: 23 })
  LEDGER_AUDIT_HOUR_UTC: number = 3;

  /** Days after which that audit reads the whole ledger again; 0: it only reads what is new. */
  @Int({ min: 0, max: 365 })
  LEDGER_AUDIT_FULL_DAYS: number = 7;

  /** Private ranges that the URLs of issuers may reach. */
  @IsOptional()
  @CidrList()
  EGRESS_ALLOW_CIDRS?: string[];
}

/** @throws EnvError */
export function readAuthEnv(source: NodeJS.ProcessEnv = process.env): AuthEnv {
  return loadEnv(AuthEnv, source);
}
