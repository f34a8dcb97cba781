package chat_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBothEncodingsOfAFormAreRead(t *testing.T) {
	w := fresh(t)
	ann := w.person("Ann")
	w.stream("general", ann)
	send := func(path string, fields map[string]string, file bool) int {
		t.Helper()
		var body bytes.Buffer
		f := multipart.NewWriter(&body)
		for name, value := range fields {
			require.NoError(t, f.WriteField(name, value))
		}
		if file {
			part, err := f.CreateFormFile("file", "x.txt")
			require.NoError(t, err)
			_, err = part.Write([]byte("x"))
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/api/v1"+path, &body)
		require.NoError(t, err)
		r.Header.Set("Content-Type", f.FormDataContentType())
		r.SetBasicAuth(ann.Email, ann.APIKey)
		resp, err := w.unchecked().http.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		return resp.StatusCode
	}
	message := map[string]string{"type": "stream", "to": "general", "topic": "t", "content": "one\r\ntwo"}
	assert.Equal(t, 200, send("/messages", message, false))
	assert.Equal(t, 400, send("/messages", message, true), "files are refused")
	assert.Equal(t, 400, send("/user_uploads", nil, true))
	assert.Len(t, ann.messages(form{}), 1)
}
