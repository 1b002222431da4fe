import { MAX_MODEL_LENGTH } from '../inference/inference.dto';
import { PROVIDER_SORTS, type ProviderSort } from '../routing/provider-preferences';
import {
  findElementsProblem,
  findUnknownMember,
  isBoolean,
  isLength,
  oneOf,
  type MemberCheck,
} from '../validation/member-checks';
import { IsWellFormed, isPlainObject } from '../validation/well-formed';

/** The settings of a workspace, by the API's names. A setting that was never made, or was cleared, is absent. */
export interface WorkspaceSettings {
  /** Slug of the default model for chat completions and responses. */
  readonly default_text_model?: string;
  /** Slug of the default model for the tool that makes pictures. */
  readonly default_image_model?: string;
  /** The sort of calls that set neither `provider.sort` nor `provider.order`. */
  readonly default_provider_sort?: ProviderSort;
  /** True if contents of calls are stored, provided that the installation stores any. */
  readonly is_observability_io_logging_enabled?: boolean;
  /** The share of calls whose inputs and outputs are stored, above 0 up to 1. */
  readonly io_logging_sampling_rate?: number;
  /** Keys whose calls are stored, by numbers that keys of this service do not have. */
  readonly io_logging_api_key_ids?: readonly number[];
  readonly is_observability_broadcast_enabled?: boolean;
  readonly is_data_discount_logging_enabled?: boolean;
}

/** Absent fields stay unchanged; null clears a setting. */
export type WorkspaceSettingsChanges = {
  readonly [Name in keyof WorkspaceSettings]?: WorkspaceSettings[Name] | null;
};

const LEAST_SAMPLING_RATE = 0.0001;
const MOST_KEY_IDS = 1_000;

const isModel: MemberCheck = (value) => {
  const fits =
    typeof value === 'string' && isLength(value, 1, MAX_MODEL_LENGTH) && value.isWellFormed() && !/\p{Cc}/u.test(value);
  return fits ? null : ` must be text of 1 to ${MAX_MODEL_LENGTH} characters without control characters`;
};
const isSamplingRate: MemberCheck = (value) =>
  typeof value === 'number' && value >= LEAST_SAMPLING_RATE && value <= 1
    ? null
    : ` must be a number from ${LEAST_SAMPLING_RATE} to 1`;
const isKeyId: MemberCheck = (value) => (Number.isSafeInteger(value) ? null : ' must be a whole number');

const CHECKS: Readonly<Record<keyof WorkspaceSettings, MemberCheck>> = {
  default_text_model: isModel,
  default_image_model: isModel,
  default_provider_sort: oneOf(...PROVIDER_SORTS),
  is_observability_io_logging_enabled: isBoolean,
  io_logging_sampling_rate: isSamplingRate,
  io_logging_api_key_ids: (value) => findElementsProblem(value, 0, MOST_KEY_IDS, isKeyId),
  is_observability_broadcast_enabled: isBoolean,
  is_data_discount_logging_enabled: isBoolean,
};

const NAMES = Object.keys(CHECKS) as (keyof WorkspaceSettings)[];

/** A field of a body with the name of a setting; may be absent or null. */
function IsSetting(): PropertyDecorator {
  return (target, name) =>
    IsWellFormed((value) =>
      value === undefined || value === null ? null : CHECKS[name as keyof WorkspaceSettings](value),
    )(target, name);
}

/** The settings of `POST /workspaces` and `PATCH /workspaces/{id}`. */
export class WorkspaceSettingsDto {
  @IsSetting()
  default_text_model?: string | null;

  @IsSetting()
  default_image_model?: string | null;

  @IsSetting()
  default_provider_sort?: ProviderSort | null;

  @IsSetting()
  is_observability_io_logging_enabled?: boolean | null;

  @IsSetting()
  io_logging_sampling_rate?: number | null;

  @IsSetting()
  io_logging_api_key_ids?: number[] | null;

  @IsSetting()
  is_observability_broadcast_enabled?: boolean | null;

  @IsSetting()
  is_data_discount_logging_enabled?: boolean | null;
}

/** Returns the settings in a body; undefined if it contains none. */
export function givenSettings(body: WorkspaceSettingsDto): WorkspaceSettingsChanges | undefined {
  const given = NAMES.flatMap((name) => (body[name] === undefined ? [] : [[name, body[name]] as const]));
  return given.length === 0 ? undefined : Object.fromEntries(given);
}

function findSettingsProblem(value: unknown): string | null {
  if (value === undefined) return null;
  if (!isPlainObject(value)) return ' must be an object';
  const unknown = findUnknownMember(value, NAMES);
  if (unknown !== null) return unknown;
  for (const [name, member] of Object.entries(value)) {
    const problem = member === null ? null : CHECKS[name as keyof WorkspaceSettings](member);
    if (problem !== null) return `.${name}${problem}`;
  }
  return null;
}

export function IsWorkspaceSettings(): PropertyDecorator {
  return IsWellFormed(findSettingsProblem);
}
