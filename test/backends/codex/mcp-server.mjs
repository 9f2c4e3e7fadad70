import { createInterface } from 'node:readline';

/** An MCP server with three tools: one that changes something, one that reads, and one that asks the user. */
const TOOLS = [
  { name: 'paint', annotations: {} },
  { name: 'look', annotations: { readOnlyHint: true } },
  { name: 'ask', annotations: { readOnlyHint: true } },
].map((tool) => ({ ...tool, description: tool.name, inputSchema: { type: 'object', properties: {} } }));

const QUESTION = {
  message: 'Which color?',
  requestedSchema: {
    type: 'object',
    properties: { color: { type: 'string', enum: ['red', 'blue'] } },
    required: ['color'],
  },
};

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const text = (content) => ({ content: [{ type: 'text', text: content }] });
let asking;

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined) send({ id: asking, result: text(JSON.stringify(result)) });
  else if (method === 'initialize') {
    const { protocolVersion } = params;
    send({
      id,
      result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'colors', version: '1' } },
    });
  } else if (method === 'tools/list') send({ id, result: { tools: TOOLS } });
  else if (method === 'tools/call' && params.name === 'ask') {
    asking = id;
    send({ id: 'question', method: 'elicitation/create', params: QUESTION });
  } else if (method === 'tools/call') send({ id, result: text(`${params.name} ran`) });
  else if (id !== undefined) send({ id, error: { code: -32601, message: 'not supported' } });
});
