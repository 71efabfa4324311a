package pool

import (
	"encoding/base64"
	"net/http"
	"net/url"
)

// forwardAuth is the Proxy-Authorization field of an absolute-form request, from the
// proxy URL's user info. The caller's own field goes first.
func forwardAuth(req *http.Request, proxy *url.URL) http.Header {
	if proxy.User == nil || req.Header.Get("Proxy-Authorization") != "" {
		return nil
	}
	password, _ := proxy.User.Password()
	cred := base64.StdEncoding.EncodeToString([]byte(proxy.User.Username() + ":" + password))
	return http.Header{"Proxy-Authorization": {"Basic " + cred}}
}
