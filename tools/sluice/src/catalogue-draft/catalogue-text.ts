import { parseCatalogue, PROTOCOLS } from '@libs/inference';
import { Document, isCollection, isMap, isPair, isScalar, Scalar, visit } from 'yaml';
import type { CatalogueDraft } from './catalogue-draft';
import { printable } from './printable';

/** Collections that are written in one line. */
const SHORT = new Set([
  'aliases',
  'apis',
  'architecture',
  'batch_pricing',
  'capabilities',
  'data_policy',
  'option_pricing',
  'pricing',
  'supported_parameters',
  'tool_pricing',
]);

/**
 * Writes a draft as a catalogue file.
 *
 * Parses the result again as the gateway does.
 * @throws CatalogueError if that finds a problem
 */
export function catalogueText({ remarks, providers, models }: CatalogueDraft): string {
  const entries = models.map((model) => ({ ...model, remarks: undefined }));
  const document = new Document({ providers, models: entries }, { aliasDuplicateObjects: false, keepUndefined: false });
  document.commentBefore = commentOf(remarks);
  writeShort(document);
  writeRemarks(
    document,
    models.map((model) => model.remarks ?? []),
  );
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true });
  parseCatalogue([{ name: 'the written catalogue', text }], { protocols: PROTOCOLS });
  return text;
}

function writeShort(document: Document): void {
  visit(document, {
    Pair(_, { key, value }) {
      if (isScalar(key) && SHORT.has(String(key.value)) && isCollection(value)) value.flow = true;
    },
    Scalar(_key, node, path) {
      const parent = path.at(-1);
      const isPrice =
        isPair(parent) && parent.value === node && typeof node.value === 'string' && /^[\d.]+$/.test(node.value);
      // Quotes show people too that a price is a text.
      if (isPrice) node.type = Scalar.QUOTE_DOUBLE;
    },
  });
}

function writeRemarks(document: Document, remarks: readonly (readonly string[])[]): void {
  remarks.forEach((lines, index) => {
    const model = document.getIn(['models', index]);
    if (lines.length > 0 && isMap(model)) model.commentBefore = commentOf(lines);
  });
}

/** Removes line breaks, because a comment ends with its line and may contain names from outside. */
function commentOf(lines: readonly string[]): string {
  return lines.map((line) => ` ${printable(line)}`).join('\n');
}
