import { IsUUID, Matches } from 'class-validator';
import { MayBeAbsent } from '../organizations/member-rules';
import { PageQueryDto } from '../organizations/page.dto';
import { HttpFields } from '../validation/derived-classes';
import { IsCredentialKey, PROVIDER_SLUG } from './credential-rules';
import { CredentialSettings } from './credentials.messages';
import type { ReadOnlyMembers } from '../organizations/read-only-members';

/** Fields that creating and changing a credential have in common. */
export class CredentialSettingsDto extends HttpFields(CredentialSettings) {}

/** Body of `POST /byok`. */
export class CreateCredentialDto extends CredentialSettingsDto {
  /** The raw key; write-only. */
  @IsCredentialKey()
  key: string;

  /** A slug of the list of providers, or one that the catalogue of the installation names. */
  @Matches(PROVIDER_SLUG, { message: '$property must be the slug of a provider, such as openai' })
  provider: string;

  /** Left out: the organization's default workspace. */
  @MayBeAbsent()
  @IsUUID()
  workspace_id?: string;
}

/** Body of `PATCH /byok/{id}`: absent fields stay unchanged, null clears a field, `key` replaces the key. */
export class UpdateCredentialDto extends CredentialSettingsDto {
  @MayBeAbsent()
  @IsCredentialKey()
  key?: string;
}

/** Query of `GET /byok`; query parameters arrive as text. */
export class ListCredentialsQueryDto extends PageQueryDto {
  /** Left out: the organization's default workspace. */
  @MayBeAbsent()
  @IsUUID()
  workspace_id?: string;

  @MayBeAbsent()
  @Matches(PROVIDER_SLUG, { message: '$property must be the slug of a provider, such as openai' })
  provider?: string;
}

/** A credential as its owner sees it. The key itself is shown nowhere. */
export interface CredentialDto extends Required<CredentialSettingsDto> {
  id: string;
  label: string;
  provider: string;
  workspace_id: string;
  created_at: string;
  sort_order: number;
  /** Addition to the API: when its key last served a call, up to two minutes late; null if it has not served any. */
  last_used_at: string | null;
  /** Addition to the API: the refusal, if the provider refused the key at its last use; otherwise null. */
  last_error: {
    readonly kind: 'refused';
    /** Status of the provider's answer, 401 or 403. */
    readonly status: number;
    readonly at: string;
    /** Calls skip the key until then; after that, one call tries it. */
    readonly skipped_until: string;
  } | null;
  /** Addition to the API: why the credential cannot be used, in sentences; empty if it can. */
  warnings: readonly string[];
}

/** When a credential was used, and its provider's verdict, change with calls; warnings depend on the catalogue. */
export const READ_ONLY_OF_CREDENTIALS: ReadOnlyMembers<CredentialDto> = {
  created: ['provider', 'workspace_id'],
  fixed: ['id', 'label', 'created_at', 'sort_order'],
  moving: ['last_used_at', 'last_error', 'warnings'],
};
