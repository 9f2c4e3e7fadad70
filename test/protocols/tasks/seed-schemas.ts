/** The JSON Schemas of the protocol's own document, verbatim, without their Japanese descriptions. */
export const SEED_SUBMIT_REQUEST = {
  type: 'object',
  properties: {
    sessionId: { type: 'string' },
    userPrompt: { type: 'string' },
    taskType: { type: 'string', enum: ['chat', 'command_execution', 'file_operation', 'complex_task'] },
    context: { type: 'object', additionalProperties: true },
  },
  required: ['sessionId', 'userPrompt', 'taskType'],
};

export const SEED_SUBMIT_REPLY = {
  type: 'object',
  properties: {
    taskId: { type: 'string' },
    status: { type: 'string', enum: ['accepted', 'rejected'] },
    message: { type: 'string' },
  },
  required: ['taskId', 'status'],
};

export const SEED_STATUS_REPLY = {
  type: 'object',
  properties: {
    taskId: { type: 'string' },
    status: { type: 'string', enum: ['pending', 'in_progress', 'completed', 'failed'] },
    progress: { type: 'number' },
    result: { type: 'object', additionalProperties: true },
    errorMessage: { type: 'string' },
  },
  required: ['taskId', 'status'],
};

/** For errors the document has only an example. */
export const SEED_ERROR = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: { code: { type: 'string' }, message: { type: 'string' }, details: { type: 'object' } },
      required: ['code', 'message'],
      additionalProperties: false,
    },
  },
  required: ['error'],
  additionalProperties: false,
};
