// The minimum work with the bytes: find the lines, JSON.parse the payloads, read the text. It assumes well-formed ASCII, stores
// nothing and reports nothing. Of the variants tried (byte search and one decode per line, search for `data:`, this one) it is
// the cheapest for every API.
const LF = '\n';

export function open(wire) {
  const textIn = TEXT_IN[wire];
  const prefix = wire === 'ollama' ? '' : 'data: ';
  return async ({ pieces }) => {
    let characters = 0;
    const read = (line) => {
      if (!line.startsWith(prefix) || line.length === prefix.length || line === 'data: [DONE]') return;
      characters += textIn(JSON.parse(line.slice(prefix.length)))?.length ?? 0;
    };
    let unfinished = '';
    for (const piece of pieces) {
      const chunk = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).latin1Slice();
      let from = 0;
      for (let at = chunk.indexOf(LF); at >= 0; at = chunk.indexOf(LF, from)) {
        if (unfinished === '') read(chunk.slice(from, at));
        else {
          read(unfinished + chunk.slice(from, at));
          unfinished = '';
        }
        from = at + 1;
      }
      unfinished += chunk.slice(from);
    }
    return characters;
  };
}

const TEXT_IN = {
  anthropic: (frame) => frame.delta?.text,
  'openai-chat': (frame) => frame.choices[0]?.delta.content,
  'openai-responses': (frame) => (frame.type === 'response.output_text.delta' ? frame.delta : undefined),
  gemini: (frame) => frame.candidates[0].content.parts[0].text,
  ollama: (frame) => frame.message.content,
};
