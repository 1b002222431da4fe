import { objectsOf, numberOf, stringOf, type JsonCursor, type JsonObject } from '@libs/json';
import { toolOfType } from '../../model/provider-tools';
import type { ProviderTool } from '../../pricing/tool-uses';
import { MOST_TURNS } from '../inner-turns';
import { unitsOfUses, type ToolUnits } from '../reported-tools';

/** Field of a message in which Groq lists the tools that it ran. */
export const EXECUTED_TOOLS = 'executed_tools';
/** Field of an annotation that cites a page. */
export const URL_CITATION = 'url_citation';

/** Groq's names for tools. In those of a browser, such as `browser.search`, an underscore replaces the point. */
const NAMES: ReadonlyMap<string, ProviderTool> = new Map([
  ['search', 'web_search'],
  ['visit', 'visit_website'],
  ['python', 'code_interpreter'],
]);

/** Reads a list of tools at the cursor. `readOther` reads the fields of a tool other than its position and type. */
export function readExecutedTools(
  cursor: JsonCursor,
  onTool: (place: number, type: string) => void,
  readOther: (key: string) => void,
): void {
  let position = 0;
  cursor.enterArray();
  for (; cursor.nextElement(); position += 1) {
    if (!cursor.isObject()) {
      cursor.skipValue();
      continue;
    }
    let place = position;
    let type: string | null = null;
    cursor.readObject((key) => {
      if (key === 'index') place = cursor.readNumberOrNull() ?? position;
      else if (key === 'type') type = cursor.readStringOrNull();
      else readOther(key);
    });
    if (type !== null) onTool(place, type);
  }
}

/**
 * Counts the tools that the upstream ran for one chat completion, as its messages list them. A stream lists a tool
 * again when its output is known, so each position in the list counts once. An answer that cites pages counts as at
 * least one search.
 */
export class ExecutedTools {
  /** Tools by choice and position in the list. */
  readonly #ran = new Map<string, ProviderTool>();
  #hasCited = false;

  /** Whether there is something to charge. */
  get hasUses(): boolean {
    return this.#hasCited || this.#ran.size > 0;
  }

  get units(): ToolUnits {
    const uses = new Map<ProviderTool, number>();
    for (const tool of this.#ran.values()) uses.set(tool, (uses.get(tool) ?? 0) + 1);
    if (this.#hasCited && !uses.has('web_search')) uses.set('web_search', 1);
    return unitsOfUses(uses);
  }

  /** @param place position in the list of the choice's message */
  add(choice: number, place: number, type: string): void {
    const tool = NAMES.get(type) ?? toolOfType(type.replaceAll('.', '_'));
    if (tool !== null && this.#ran.size < MOST_TURNS) this.#ran.set(`${choice}:${place}`, tool);
  }

  cite(): void {
    this.#hasCited = true;
  }

  /** Counts the tools that a parsed message or delta lists. */
  addAll(choice: number, message: JsonObject): void {
    for (const [place, { index, type }] of objectsOf(message[EXECUTED_TOOLS]).entries()) {
      const name = stringOf(type);
      if (name !== undefined) this.add(choice, numberOf(index) ?? place, name);
    }
    if (objectsOf(message['annotations']).some((one) => URL_CITATION in one)) this.cite();
  }
}
