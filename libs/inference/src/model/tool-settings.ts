import { isObject, type JsonObject } from '@libs/json';
import type { ProviderTool } from '../pricing/tool-uses';
import { MemberNames } from './member-names';

/** A setting that affects a provider's charge, with the values that the tool's price covers. */
interface ChargedSetting {
  readonly names: MemberNames;
  readonly paid: readonly unknown[];
}

const setting = (name: string, ...paid: readonly unknown[]): ChargedSetting => ({
  names: new MemberNames([name]),
  paid: [undefined, null, ...paid],
});

/** At OpenAI, a container of 4 GB costs four times as much as one of 1 GB, and one of 64 GB 64 times as much. */
const OF_CONTAINERS = [setting('memory_limit', '1g')];
/** The price of pictures depends on model, quality, size and number. */
const OF_PICTURES = [
  setting('model'),
  setting('quality', 'auto', 'low', 'medium', 'standard'),
  setting('size', 'auto', '1024x1024'),
  setting('input_fidelity', 'low'),
  setting('partial_images', 0),
  setting('n', 1),
];

/**
 * Returns the path, inside the tool, of a setting for which the provider charges more than the price of one use; null
 * if there is none. The settings of a container are inside a field of the tool.
 */
export function dearerSetting(tool: ProviderTool, entry: JsonObject): string | null {
  const ofEntry = dearerIn(entry, tool === 'image_generation' ? [...OF_CONTAINERS, ...OF_PICTURES] : OF_CONTAINERS);
  if (ofEntry !== undefined) return ofEntry;
  for (const [name, value] of Object.entries(entry)) {
    const inner = isObject(value) ? dearerIn(value, OF_CONTAINERS) : undefined;
    if (inner !== undefined) return `${name}.${inner}`;
  }
  return null;
}

function dearerIn(entry: JsonObject, settings: readonly ChargedSetting[]): string | undefined {
  return Object.keys(entry).find((name) =>
    settings.some(({ names, paid }) => names.has(name) && !paid.includes(entry[name])),
  );
}
