import { jsonReply, type Call, type Reply } from './http/reply';

/** 2026-01-01T00:00:00Z */
const CREATED = 1_767_225_600;
const CREATED_ISO = '2026-01-01T00:00:00Z';
const MODELS = ['sandbox-chat', 'sandbox-embedding', 'sandbox-transcription', 'sandbox-video'];

/**
 * `GET /v1/models`, in the shape of the dialect the caller speaks.
 * The list is a suggestion: any name is answered, so that a catalogue may call its models as it likes.
 */
export function listModels(call: Call): Reply {
  const speaksOpenai = call.headers['anthropic-version'] === undefined;
  if (speaksOpenai) return jsonReply({ object: 'list', data: MODELS.map(openaiModel) });
  const data = MODELS.map((id) => ({ type: 'model', id, display_name: `Sandbox: ${id}`, created_at: CREATED_ISO }));
  return jsonReply({ data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) });
}

/** `GET /v1/models/{id}`. */
export function showModel(call: Call): Reply {
  return jsonReply(openaiModel(call.id));
}

function openaiModel(id: string): object {
  return { id, object: 'model', created: CREATED, owned_by: 'sluice-sandbox' };
}
