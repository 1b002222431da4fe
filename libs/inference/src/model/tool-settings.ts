import { isObject, type JsonObject } from '../json/loose-values';
import type { ProviderTool } from '../pricing/tool-uses';
import { MemberNames } from './member-names';

/** A setting by whose value a provider charges, with the values that the price of the tool pays for. */
interface ChargedSetting {
  readonly names: MemberNames;
  readonly paid: readonly unknown[];
}

const setting = (name: string, ...paid: readonly unknown[]): ChargedSetting => ({
  names: new MemberNames([name]),
  paid: [undefined, null, ...paid],
});

/** OpenAI: a container of 4 GB costs four times as much as one of 1 GB, one of 64 GB 64 times. */
const OF_CONTAINERS = [setting('memory_limit', '1g')];
/** Pictures cost by model, quality, size and number. */
const OF_PICTURES = [
  setting('model'),
  setting('quality', 'auto', 'low', 'medium', 'standard'),
  setting('size', 'auto', '1024x1024'),
  setting('input_fidelity', 'low'),
  setting('partial_images', 0),
  setting('n', 1),
];

/**
 * Returns the setting of a tool for which its provider charges more than the price of a use, as a path inside the tool;
 * null where there is none. Containers are described in a member of the tool.
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
