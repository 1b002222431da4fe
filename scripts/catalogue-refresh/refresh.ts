import { isDeepStrictEqual } from 'node:util';
import { Document, isMap, isScalar, isSeq, parseDocument, Scalar, visit, type Node, type YAMLMap } from 'yaml';
import { endpointKey } from './endpoint-key';
import { rateText, type PricedModel } from './price-data';

type Value = unknown;
/** Values by field, such as `pricing.prompt` or `context_length`. */
type Fields = Readonly<Record<string, Value>>;

/** The values in the price data for one endpoint when they were last written. */
export interface SeededEndpoint {
  /** Provider and model of the price data. */
  readonly source: string;
  readonly id: string;
  readonly seen: Fields;
  /** Fields of the file that differ from what was last written, as the last refresh found them. */
  readonly edits?: Fields;
}

/** `catalog/.seed.json`. */
export interface Seed {
  /** Day of the prices, as `2026-11-21`. */
  readonly asOf: string;
  /** Endpoints by `endpointKey`. */
  readonly endpoints: Readonly<Record<string, SeededEndpoint>>;
  /** Models of the price data by source that were reported before. */
  readonly known: Readonly<Record<string, readonly string[]>>;
}

export interface PriceData {
  /** @throws Error for a model that is no longer in the data */
  find(source: string, id: string, day: string): PricedModel;
  /** Ids of the models that are on sale at a source. */
  idsOf(source: string): readonly string[];
}

export interface Refresh {
  /** One line for each difference. */
  readonly report: readonly string[];
  /** Files that change, with their new text. */
  readonly files: ReadonlyMap<string, string>;
  readonly seed: Seed;
}

interface Place {
  readonly file: string;
  readonly document: Document;
  readonly endpoint: YAMLMap;
}

/**
 * Compares a catalogue with the price data and returns what would change. A value is changed only if it still equals
 * the value in the seed. A value that the operator edited is reported and kept, even after the price data had the same
 * value. Comments and order are kept.
 */
export function refreshCatalogue(
  texts: ReadonlyMap<string, string>,
  seed: Seed,
  data: PriceData,
  day: string,
): Refresh {
  const places = placesOf(texts);
  const report: string[] = [];
  const changed = new Map<string, Document>();
  const endpoints: Record<string, SeededEndpoint> = {};
  for (const [key, seeded] of Object.entries(seed.endpoints)) {
    const found = places.get(key) ?? [];
    const [place] = found;
    const latest = place && latestFields(seeded, data, day);
    endpoints[key] = seeded;
    if (!place) report.push(`${key}: no longer in the catalogue${othersLike(key, places)}`);
    else if (!latest) report.push(`${key}: ${seeded.id} of ${seeded.source} is no longer in the price data`);
    else if (found.length > 1) report.push(`${key}: ${found.length} endpoints match this entry; none is changed`);
    if (!latest || found.length > 1) continue;
    const outcome = refreshEndpoint(key, place.endpoint, seeded, latest);
    report.push(...outcome.report);
    endpoints[key] = outcome.seeded;
    if (outcome.isChanged) changed.set(place.file, place.document);
  }
  const { added, known } = newModels(seed, data);
  return {
    report: [...report, ...added],
    files: new Map([...changed].map(([file, document]) => [file, textOf(document)])),
    seed: { asOf: day, endpoints, known },
  };
}

/** Serializes a document; unchanged parts keep their form. */
export function textOf(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** All endpoints by `endpointKey`. Several with one key are ambiguous. */
function placesOf(texts: ReadonlyMap<string, string>): ReadonlyMap<string, readonly Place[]> {
  const places = new Map<string, Place[]>();
  for (const [file, text] of texts) {
    const document = parseDocument(text);
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}`);
    for (const model of mapsIn(document.get('models'))) {
      for (const endpoint of mapsIn(model.get('endpoints'))) {
        const key = endpointKey(model.get('slug'), endpoint.toJS(document) as Readonly<Record<string, unknown>>);
        places.set(key, [...(places.get(key) ?? []), { file, document, endpoint }]);
      }
    }
  }
  return places;
}

/** Returns the names of other endpoints for the same model: an operator's own, or a seeded one that was edited. */
function othersLike(key: string, places: ReadonlyMap<string, readonly Place[]>): string {
  const stem = stemOf(key);
  const others = [...places.keys()].filter((other) => stemOf(other) === stem);
  return others.length === 0 ? '' : `; not the same and left alone: ${others.join('; ')}`;
}

/** The slug, provider and upstream model of an `endpointKey`. */
function stemOf(key: string): string {
  return key.split(' ').slice(0, 3).join(' ');
}

function mapsIn(node: unknown): readonly YAMLMap[] {
  return isSeq(node) ? node.items.filter((item) => isMap(item)) : [];
}

function latestFields({ source, id, seen }: SeededEndpoint, data: PriceData, day: string): Fields | null {
  let priced: PricedModel;
  try {
    priced = data.find(source, id, day);
  } catch {
    return null;
  }
  const all: Record<string, Value> = { context_length: priced.contextLength };
  for (const [tool, price] of Object.entries(priced.tools ?? {})) all[`tool_pricing.${tool}`] = price;
  // Whether an endpoint runs tools, and whether the context in the data is the model's, is decided when it is seeded.
  const fields: Record<string, Value> = {};
  for (const [field, value] of Object.entries(all)) {
    if (value !== undefined && field in seen) fields[field] = value;
  }
  for (const [rate, price] of Object.entries(priced.pricing)) fields[`pricing.${rate}`] = price;
  return fields;
}

function refreshEndpoint(key: string, endpoint: YAMLMap, seeded: SeededEndpoint, latest: Fields) {
  const { edits: known = {}, ...rest } = seeded;
  const report: string[] = [];
  const seen: Record<string, Value> = { ...seeded.seen };
  const edits: Record<string, Value> = {};
  let isChanged = false;
  const set = (field: string, from: Value, to: Value): void => {
    report.push(`${key}: ${field} ${shown(from)} -> ${shown(to)}`);
    write(endpoint, field, to);
    isChanged = true;
  };
  for (const field of new Set([...Object.keys(seen), ...Object.keys(latest)])) {
    const [was, is, here] = [seen[field], latest[field], valueAt(endpoint, field)];
    const isListed = isDeepStrictEqual(here, is);
    if (isEdited({ was, is, here, known: known[field] })) {
      if (here !== undefined) edits[field] = here;
      if (isListed || isDeepStrictEqual(was, is)) continue;
      report.push(`${key}: ${field} stays ${shown(here)}, which was edited; the price data has ${shown(is)}`);
      continue;
    }
    seen[field] = is;
    if (isListed) continue;
    set(field, was, is);
    followInBatches(key, endpoint, { field, was, is }, { report, set });
  }
  return { report, isChanged, seeded: { ...rest, seen: defined(seen), ...(!isEmpty(edits) && { edits }) } };
}

interface Readings {
  /** Last written. */
  readonly was: Value;
  /** Value in the price data. */
  readonly is: Value;
  /** Value in the file. */
  readonly here: Value;
  /** Value that the last refresh found in the file as an edit. */
  readonly known: Value;
}

/** A value that equals the price data is still an edit, unless the operator changed it to that since. */
function isEdited({ was, is, here, known }: Readings): boolean {
  if (isDeepStrictEqual(here, was)) return false;
  const isTakenOver = isDeepStrictEqual(here, is) && known !== undefined && !isDeepStrictEqual(here, known);
  return !isTakenOver;
}

function defined(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function isEmpty(fields: Fields): boolean {
  return Object.keys(fields).length === 0;
}

interface Change {
  readonly field: string;
  readonly was: Value;
  readonly is: Value;
}

interface Outcome {
  readonly report: string[];
  readonly set: (field: string, from: Value, to: Value) => void;
}

/** An explicit batch price that was the list price or half of it stays so; any other is reported. */
function followInBatches(key: string, endpoint: YAMLMap, { field, was, is }: Change, { report, set }: Outcome): void {
  if (!field.startsWith('pricing.')) return;
  const batchField = `batch_${field}`;
  const batch = valueAt(endpoint, batchField);
  if (batch === undefined) return;
  if (isDeepStrictEqual(batch, was)) set(batchField, batch, is);
  else if (typeof was === 'string' && typeof is === 'string' && batch === rateText(was, 2n)) {
    set(batchField, batch, rateText(is, 2n));
  } else report.push(`${key}: ${batchField} stays ${shown(batch)}, a price of its own; check it`);
}

function valueAt(endpoint: YAMLMap, field: string): Value {
  const node = endpoint.getIn(field.split('.'), true) as Node | undefined;
  return node === undefined ? undefined : isScalar(node) ? node.value : (node as YAMLMap).toJSON();
}

function shown(value: Value): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

function write(endpoint: YAMLMap, field: string, value: Value): void {
  const path = field.split('.');
  const old = endpoint.getIn(path, true);
  if (value === undefined) endpoint.deleteIn(path);
  else if (isScalar(old) && typeof value !== 'object') old.value = value;
  else endpoint.setIn(path, quoted(new Document(value).contents!));
}

/** A price without quotes would be a float, which a catalogue may not contain. */
function quoted(node: Node): Node {
  visit(node, {
    Scalar: (position, scalar) => {
      if (position !== 'key' && typeof scalar.value === 'string') scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return node;
}

/** Models that the data has since the last refresh, of families that the catalogue lists. */
function newModels({ endpoints, known }: Seed, data: PriceData) {
  const added: string[] = [];
  const all: Record<string, readonly string[]> = {};
  for (const source of new Set(Object.values(endpoints).map((one) => one.source))) {
    const listed = Object.values(endpoints).filter((one) => one.source === source);
    const families = new Set(listed.map(({ id }) => familyOf(id)));
    const before = new Set([...listed.map(({ id }) => id), ...(known[source] ?? [])]);
    const ids = data.idsOf(source).filter((id) => families.has(familyOf(id)));
    added.push(...ids.filter((id) => !before.has(id)).map((id) => `new at ${source}: ${id}`));
    all[source] = ids.toSorted();
  }
  return { added, known: all };
}

/** The id up to its first digit: `gpt-` of `gpt-5.4-mini`. */
function familyOf(id: string): string {
  return id.replace(/\d.*$/, '');
}
